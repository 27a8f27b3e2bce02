import { FakeTime } from '@waybill/model';
import { ProjectionFeed, type WatchKey } from '@waybill/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { AWAIT_MS, AwaitedReads } from './awaited-reads.js';

const KEY: WatchKey[] = [['allocs', 'one']];

let time: FakeTime;
let feed: ProjectionFeed;
let row: string | undefined;
let reads: number;
let awaited: AwaitedReads;

beforeEach(() => {
  time = new FakeTime();
  const record = { appliedIndex: () => Promise.resolve(0), txnVerdict: () => Promise.resolve(undefined) };
  feed = new ProjectionFeed({ record, clock: time, timers: time });
  [row, reads] = [undefined, 0];
  awaited = new AwaitedReads({ feed, clock: time, most: 2 });
});

const read = (): Promise<string | undefined> => {
  reads++;
  return Promise.resolve(row);
};
/** The projector has written a row with this key. */
const written = (key: string, to: number): void =>
  feed.receive({
    from: to - 1,
    to,
    eventSequence: 0,
    appliedAtMs: time.nowMs(),
    entries: [{ index: to, requestId: 'r', keys: [['allocs', key]] }],
  });

describe('a row that was not read yet', () => {
  it('AU-144: is waited for until it is there, and no longer', async () => {
    const waiting = awaited.of(KEY, read);
    await time.pass(100);
    written('other', 1);
    await time.pass(100);
    expect(reads).toBe(2);
    row = 'here';
    written('one', 2);
    expect(await waiting).toBe('here');
    expect([reads, feed.watchCount, time.pending]).toEqual([3, 0, 0]);
  });

  it('AU-144: that never comes is given up after a second, though other changes came', async () => {
    let answer: unknown = 'none';
    void awaited.of(KEY, read).then((found) => (answer = found));
    await time.pass(AWAIT_MS / 2);
    written('one', 1);
    await time.pass(AWAIT_MS / 2 - 1);
    expect(answer).toBe('none');
    await time.pass(1);
    expect([answer, feed.watchCount]).toEqual([undefined, 0]);
  });

  it('is found at the end of the wait although its announcement was lost', async () => {
    const waiting = awaited.of(KEY, read);
    await time.pass(100);
    row = 'here';
    await time.pass(AWAIT_MS);
    expect(await waiting).toBe('here');
  });

  it('AU-174: is not waited for while too many wait, and again when they are done', async () => {
    const both = [awaited.of(KEY, read), awaited.of(KEY, read)];
    await time.pass(0);
    reads = 0;
    expect(await awaited.of(KEY, read)).toBeUndefined();
    expect(reads).toBe(1);
    await time.pass(AWAIT_MS);
    expect(await Promise.all(both)).toEqual([undefined, undefined]);
    const third = awaited.of(KEY, read);
    await time.pass(0);
    row = 'here';
    written('one', 1);
    expect(await third).toBe('here');
  });

  it('that is there is read once', async () => {
    row = 'here';
    expect(await awaited.of(KEY, read)).toBe('here');
    expect(reads).toBe(1);
  });
});
