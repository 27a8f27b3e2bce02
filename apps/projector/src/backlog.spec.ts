import { type Applied, type Change, fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { Backlog, MAX_BACKLOG_TXNS, MAX_BATCH_ROWS, MAX_BATCH_TXNS } from './backlog.js';

function projected(index: number, rows = 1): Applied {
  const after = fixtures.anEval();
  const change: Change = { table: 'evals', key: after.ID, before: undefined, after };
  const txn = fixtures.aTxn(index, 'Ignore', {});
  return { txn, index, verdict: { kind: 'accepted' }, changes: Array.from({ length: rows }, () => change) };
}
async function settled<T>(promise: Promise<T>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  return done;
}

describe('Backlog', () => {
  it('gives what has gathered, oldest first, in batches of limited size', async () => {
    const backlog = new Backlog();
    for (let index = 1; index <= MAX_BATCH_TXNS + 2; index++) backlog.add(projected(index));
    const first = await backlog.next();
    expect(first!.map((one) => one.index)).toEqual(Array.from({ length: MAX_BATCH_TXNS }, (_, n) => n + 1));
    expect(await backlog.next()).toHaveLength(2);
    expect(backlog.size).toBe(0);
  });

  it('a transaction with more rows than a batch is a batch of its own', async () => {
    const backlog = new Backlog();
    backlog.add(projected(1, MAX_BATCH_ROWS * 2));
    backlog.add(projected(2));
    expect((await backlog.next())!.map((one) => one.index)).toEqual([1]);
    expect((await backlog.next())!.map((one) => one.index)).toEqual([2]);
  });

  it('lets the reader of the log wait until there is room', async () => {
    const backlog = new Backlog();
    for (let index = 1; index <= MAX_BACKLOG_TXNS; index++) backlog.add(projected(index));
    const room = backlog.room();
    expect(await settled(room)).toBe(false);
    await backlog.next();
    expect(await settled(room)).toBe(true);
  });

  it('lets the writer wait for something to write', async () => {
    const backlog = new Backlog();
    const next = backlog.next();
    expect(await settled(next)).toBe(false);
    backlog.add(projected(1));
    await backlog.room();
    expect(await next).toHaveLength(1);
  });

  it('releases both when it is closed, and drops what waited', async () => {
    const backlog = new Backlog();
    const next = backlog.next();
    backlog.close();
    expect(await next).toBeUndefined();
    for (let index = 1; index <= MAX_BACKLOG_TXNS; index++) backlog.add(projected(index));
    await backlog.room();
    expect(await backlog.next()).toBeUndefined();
  });
});
