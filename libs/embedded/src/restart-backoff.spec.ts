import { describe, expect, it } from 'vitest';
import { failuresAfter, restartDelayMs } from './restart-backoff.js';

describe('restart backoff', () => {
  it('grows from 100 ms and stays at 5 s', () => {
    expect([1, 2, 3, 6, 7, 50, 5_000].map(restartDelayMs)).toEqual([100, 200, 400, 3_200, 5_000, 5_000, 5_000]);
  });

  it('starts over after a run that was healthy', () => {
    expect(failuresAfter(7, 9_999)).toBe(8);
    expect(failuresAfter(7, 10_000)).toBe(1);
  });
});
