import { describe, expect, it } from 'vitest';
import { AHEAD, inOrder, type Worker } from './in-order.js';
import { seedRange } from './seeds.js';

describe('seeds that several run at once', () => {
  it('are told in their order, while one long run keeps nobody waiting', async () => {
    const done: number[] = [];
    let endFirst = (): void => {};
    const first = new Promise<void>((resolve) => (endFirst = resolve));
    const worker: Worker<number> = async (seed) => {
      if (seed === 1) await first;
      done.push(seed);
      if (done.length === 2 * AHEAD - 1) endFirst();
      return seed;
    };
    const told: number[] = [];
    for await (const seed of inOrder(seedRange(1, 20), [worker, worker])) told.push(seed);
    expect(told).toEqual([...seedRange(1, 20)]);
    expect(done.indexOf(1)).toBe(2 * AHEAD - 1);
  });

  it('end with the first that fails, in their order; whoever stops listening begins no more', async () => {
    const begun: number[] = [];
    const worker: Worker<number> = async (seed) => {
      begun.push(seed);
      if (seed === 3 || seed === 2) throw new Error(`seed ${seed}`);
      return seed;
    };
    const all = inOrder(seedRange(1, 1_000), [worker, worker, worker]);
    expect((await all.next()).value).toBe(1);
    await expect(all.next()).rejects.toThrow('seed 2');
    expect(begun.length).toBeLessThanOrEqual(3 * AHEAD + 1);
  });
});
