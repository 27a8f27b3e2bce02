import { describe, expect, it } from 'vitest';
import { nameOf } from './affected-queries.js';
import { RefreshQueue } from './refresh-queue.js';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A queue whose reads are answered by the test, and whose pauses end when the test says so. */
function queueOf(answerAtOnce?: () => Promise<void>) {
  const asked: string[] = [];
  const pauses: number[] = [];
  const answers = new Map<string, () => void>();
  const waiting: (() => void)[] = [];
  const clock = { nowMs: 0 };
  const queue = new RefreshQueue({
    refresh: (key) => {
      asked.push(nameOf(key));
      return answerAtOnce?.() ?? new Promise((resolve) => answers.set(nameOf(key), resolve));
    },
    pause: (ms) => {
      pauses.push(ms);
      return new Promise((resolve) => waiting.push(resolve));
    },
    nowMs: () => clock.nowMs,
  });
  const answer = async (name: string, tookMs = 0): Promise<void> => {
    clock.nowMs += tookMs;
    answers.get(name)?.();
    await settled();
  };
  const endPauses = async (): Promise<void> => {
    for (const end of waiting.splice(0)) end();
    await settled();
  };
  return { queue, asked, pauses, answer, endPauses };
}

describe('reading anew what has become old', () => {
  it('asks once for many changes while an answer is under way, then once more', async () => {
    const { queue, asked, answer, endPauses } = queueOf();
    for (let change = 0; change < 100; change++) queue.add([['jobs']]);
    expect(asked).toEqual(['jobs']);
    await answer('jobs');
    queue.add([['jobs']]);
    expect(asked).toEqual(['jobs']);
    await endPauses();
    expect(asked).toEqual(['jobs', 'jobs']);
    await answer('jobs');
    await endPauses();
    expect(asked).toHaveLength(2);
    queue.add([['jobs']]);
    expect(asked).toHaveLength(3);
  });

  it('a slow answer holds up no other one', async () => {
    const { queue, asked, answer, endPauses } = queueOf();
    queue.add([['slow'], ['fast']]);
    await answer('fast');
    await endPauses();
    queue.add([['slow'], ['fast']]);
    expect(asked).toEqual(['slow', 'fast', 'fast']);
  });

  it('reads an answer the less often the longer it takes, and at least every five seconds', async () => {
    const { queue, pauses, answer, endPauses } = queueOf();
    for (const tookMs of [1, 300, 60_000]) {
      queue.add([['jobs']]);
      await answer('jobs', tookMs);
      await endPauses();
    }
    expect(pauses).toEqual([100, 1_200, 5_000]);
  });

  it('goes on after an answer that failed', async () => {
    const { queue, asked, endPauses } = queueOf(() => Promise.reject(new Error('away')));
    queue.add([['jobs']]);
    await settled();
    await endPauses();
    queue.add([['jobs']]);
    expect(asked).toHaveLength(2);
  });
});
