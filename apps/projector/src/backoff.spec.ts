import { FakeTime, settle } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { retried } from './backoff.js';

/** Something that fails so many times, and when it was tried, in ms. */
function failing(time: FakeTime, times: number) {
  const triedAt: number[] = [];
  const begun = time.nowMs();
  const work = async (): Promise<string> => {
    triedAt.push(time.nowMs() - begun);
    if (triedAt.length <= times) throw new Error(`failure ${triedAt.length}`);
    return 'done';
  };
  return { triedAt, work };
}

describe('what is tried until it succeeds', () => {
  it('waits twice as long each time, and two seconds at most', async () => {
    const time = new FakeTime();
    const { triedAt, work } = failing(time, 8);
    const failures: number[] = [];
    const done = retried(work, {
      timers: time,
      signal: new AbortController().signal,
      worthwhile: () => true,
      onFailure: (_, attempt) => failures.push(attempt),
    });
    await time.pass(20_000);
    expect(await done).toBe('done');
    const pauses = triedAt.slice(1).map((at, n) => at - triedAt[n]!);
    expect(pauses).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
    expect(failures).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('is not tried again where that cannot help, nor when it is to end', async () => {
    const time = new FakeTime();
    const stopper = new AbortController();
    const options = { timers: time, signal: stopper.signal, onFailure: () => {} };
    const hopeless = failing(time, 9);
    await expect(retried(hopeless.work, { ...options, worthwhile: () => false })).rejects.toThrow('failure 1');
    expect(hopeless.triedAt).toHaveLength(1);
    const hopeful = failing(time, 9);
    const ends = expect(retried(hopeful.work, { ...options, worthwhile: () => true })).rejects.toThrow('failure 2');
    await settle();
    stopper.abort();
    await ends;
    expect(time.pending).toBe(0);
  });
});
