import { describe, expect, it } from 'vitest';
import { SharedRead } from './shared-read.js';

/** Reads that each end when told to. */
function heldReads() {
  const ends: ((value: number | Error) => void)[] = [];
  const shared = new SharedRead<number>(
    () =>
      new Promise((resolve, reject) => ends.push((value) => (value instanceof Error ? reject(value) : resolve(value)))),
  );
  return { shared, ends };
}
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

describe('a shared read', () => {
  it('begins anew for who comes while one is under way, once for all of them', async () => {
    const { shared, ends } = heldReads();
    const first = shared.fresh();
    const later = [shared.fresh(), shared.fresh()];
    expect(ends).toHaveLength(1);
    ends[0]?.(1);
    expect(await first).toBe(1);
    await settled();
    expect(ends).toHaveLength(2);
    ends[1]?.(2);
    expect(await Promise.all(later)).toEqual([2, 2]);
  });

  it('that fails is the failure of those who share it, and of nobody else', async () => {
    const { shared, ends } = heldReads();
    const first = shared.fresh();
    const later = shared.fresh();
    ends[0]?.(new Error('no database'));
    await expect(first).rejects.toThrow('no database');
    await settled();
    ends[1]?.(2);
    expect(await later).toBe(2);
    const last = shared.fresh();
    ends[2]?.(3);
    expect(await last).toBe(3);
  });
});
