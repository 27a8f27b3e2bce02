import { FakeTime, settle } from '@waybill/model';
import { MAX_ALLOC_QUERY_WAIT_MS } from '@waybill/rpc';
import { beforeEach, describe, expect, it } from 'vitest';
import { WaitingReads } from './waiting-reads.js';

let time: FakeTime;
let reads: WaitingReads;
let answered: string[];

beforeEach(() => {
  time = new FakeTime();
  reads = new WaitingReads(time, 2, 'tests');
  answered = [];
});

const read = (key: string, maxMs = 1_000): Promise<unknown> =>
  reads.waitForChange(key, maxMs).then(() => answered.push(key));

describe('ND-130: a read that waits', () => {
  it('is answered by a change of its key, and by no other', async () => {
    const waiting = [read('a'), read('b')];
    expect(reads.isEmpty).toBe(false);
    reads.wakeReadsOf('c');
    reads.wakeReadsOf('b');
    await settle();
    expect(answered).toEqual(['b']);
    reads.wakeAll();
    await Promise.all(waiting);
    expect([answered, reads.isEmpty, time.pending]).toEqual([['b', 'a'], true, 0]);
  });

  it('is answered after its time, which is limited', async () => {
    void read('a', 10);
    void read('b', 10 * MAX_ALLOC_QUERY_WAIT_MS);
    await time.pass(9);
    expect(answered).toEqual([]);
    await time.pass(1);
    expect(answered).toEqual(['a']);
    await time.pass(MAX_ALLOC_QUERY_WAIT_MS - 11);
    expect(answered).toEqual(['a']);
    await time.pass(1);
    expect([answered, reads.isEmpty]).toEqual([['a', 'b'], true]);
  });

  it.each([0, -1])('of %i ms does not wait', async (maxMs) => {
    await read('a', maxMs);
    expect([answered, time.pending]).toEqual([['a'], 0]);
  });

  it('is refused beyond the limit, until another one is answered', async () => {
    void read('a');
    void read('a');
    await expect(read('b')).rejects.toThrow('too many reads of tests are waiting');
    reads.wakeReadsOf('a');
    await settle();
    void read('b');
    expect(reads.isEmpty).toBe(false);
  });

  it('shares its key with others: one that ends leaves them', async () => {
    void read('a', 10);
    void read('a', 20);
    await time.pass(10);
    expect([answered.length, reads.isEmpty]).toEqual([1, false]);
    reads.wakeReadsOf('a');
    await settle();
    expect([answered.length, reads.isEmpty]).toEqual([2, true]);
  });

  it('is answered at the close, and waits no more after it', async () => {
    const waiting = read('a');
    reads.close();
    await waiting;
    await read('b');
    expect([answered, reads.isEmpty, time.pending]).toEqual([['a', 'b'], true, 0]);
  });
});
