import { FakeTime, type Allocation } from '@waybill/model';
import { ProjectionFeed } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { AWAIT_MS } from './awaited-reads.js';
import { workloadsOf } from './callers-of.js';

const alloc = fixtures.anAlloc();

/** An API whose read model has the allocation after a while. */
function lateApi(lateMs: number) {
  const time = new FakeTime();
  const record = { appliedIndex: () => Promise.resolve(0), txnVerdict: () => Promise.resolve(undefined) };
  const feed = new ProjectionFeed({ record, clock: time, timers: time });
  let row: Allocation | undefined;
  const entries = [{ index: 1, requestId: 'r', keys: [['allocs', alloc.ID] as const] }];
  time.after(lateMs, () => {
    row = alloc;
    feed.receive({ from: 0, to: 1, eventSequence: 0, appliedAtMs: time.nowMs(), entries });
  });
  const model = {
    allocation: () => Promise.resolve({ row }),
    access: { policiesOfWorkload: () => Promise.resolve([]) },
  };
  const keyring = { verifyJwt: () => Promise.resolve({}) };
  return { time, workloads: workloadsOf({ clock: time, feed, keyring, model }) };
}

async function answered(lateMs: number, ageMs: number, afterMs: number): Promise<unknown> {
  const { time, workloads } = lateApi(lateMs);
  let answer: unknown = 'waits';
  void workloads.allocation(alloc.ID, time.nowMs() - ageMs).then((found) => (answer = found?.ID ?? 'none'));
  await time.pass(afterMs);
  return answer;
}

it('AU-144, AU-171: the allocation of a new identity is waited for, that of an old one is not', async () => {
  expect(await answered(300, 1_000, 299)).toBe('waits');
  expect(await answered(300, 1_000, 300)).toBe(alloc.ID);
  expect(await answered(10 * AWAIT_MS, 1_000, AWAIT_MS)).toBe('none');
  expect(await answered(300, 120_000, 0)).toBe('none');
});
