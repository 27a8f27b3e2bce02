import { describe, expect, it } from 'vitest';
import { planOf, SMALL_RUN } from './run-plan.js';
import { simulate } from './simulation.js';

describe('a simulated run', () => {
  it.each([1, 2] as const)('is the same each time it is run: one seed, one history; regions: %d', async (regions) => {
    const size = { ...SMALL_RUN, regions };
    const first = await simulate(planOf(42, size));
    const second = await simulate(planOf(42, size));
    expect(first.failure).toBeUndefined();
    expect(second.hash).toBe(first.hash);
    expect(second.transactions).toBe(first.transactions);
    const other = await simulate(planOf(43, size));
    expect(other.hash).not.toBe(first.hash);
  });
});
