import { describe, expect, it } from 'vitest';
import { planOf } from './run-plan.js';
import { simulate } from './simulation.js';

const SIZE = { servers: 3, machines: 5, actions: 40 };

describe('a simulated run', () => {
  it('is the same each time it is run: one seed, one history', async () => {
    const first = await simulate(planOf(42, SIZE));
    const second = await simulate(planOf(42, SIZE));
    expect(first.failure).toBeUndefined();
    expect(second.hash).toBe(first.hash);
    expect(second.transactions).toBe(first.transactions);
    const other = await simulate(planOf(43, SIZE));
    expect(other.hash).not.toBe(first.hash);
  });
});
