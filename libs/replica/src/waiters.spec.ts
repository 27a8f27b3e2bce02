import { SimulatedTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { ReplicaBehindError } from './replicated-state.js';
import { IndexWaiters, MAX_WAITERS } from './waiters.js';

let time: SimulatedTime;
let waiters: IndexWaiters;
let outcomes: string[];

beforeEach(() => {
  time = new SimulatedTime();
  waiters = new IndexWaiters(time);
  outcomes = [];
});

const wait = (index: number, timeoutMs = 1_000): void => {
  void waiters
    .wait(index, timeoutMs, () => 1)
    .then(
      () => outcomes.push(`${index}`),
      (error: unknown) => outcomes.push(`${index} ${error instanceof ReplicaBehindError ? 'behind' : String(error)}`),
    );
};
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('waiting for an index', () => {
  it('EB-200: is told when it is reached, at once and without a look in between', async () => {
    for (const index of [7, 5, 9]) wait(index);
    expect(time.armedCount).toBe(3); // the limits of the three waits, and nothing that polls
    waiters.wake(4);
    await settled();
    expect(outcomes).toEqual([]);
    waiters.wake(7);
    await settled();
    expect(outcomes).toEqual(['5', '7']);
    expect(time.armedCount).toBe(1);
    expect(waiters.size).toBe(1);
  });

  it('EB-199: ends with an error when it is not reached in time', async () => {
    wait(5, 1_000);
    time.advance(1_000);
    await settled();
    expect(outcomes).toEqual(['5 behind']);
    expect([waiters.size, time.armedCount]).toEqual([0, 0]);
  });

  it('is refused beyond the limit, and ended when the copy stops', { timeout: 60_000 }, async () => {
    for (let i = 0; i < MAX_WAITERS; i++) wait(i + 2);
    wait(1);
    await settled();
    expect(outcomes).toEqual(['1 behind']);
    waiters.fail(new Error('stopped'));
    await settled();
    expect(outcomes).toHaveLength(MAX_WAITERS + 1);
    expect(time.armedCount).toBe(0);
  });
});
