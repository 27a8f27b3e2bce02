import { describe, expect, it } from 'vitest';
import { planOf, SMALL_RUN } from './run-plan.js';
import { simulate } from './simulation.js';

describe('a simulated run', () => {
  it('is the same each time it is run: one seed, one history', async () => {
    const first = await simulate(planOf(42, SMALL_RUN));
    const second = await simulate(planOf(42, SMALL_RUN));
    expect(first.failure).toBeUndefined();
    expect(second.hash).toBe(first.hash);
    expect(second.transactions).toBe(first.transactions);
    const other = await simulate(planOf(43, SMALL_RUN));
    expect(other.hash).not.toBe(first.hash);
  });
});
