import { describe, expect, it } from 'vitest';
import { MUTATIONS } from './mutations/mutations.js';
import { SMALL_RUN } from './run-plan.js';
import { firstToCatch, seedRange } from './seeds.js';

/** What is not caught within this many runs counts as not caught. */
const MAX_SEEDS = 200;

describe('a bug that is switched on is found', () => {
  for (const mutation of MUTATIONS)
    it(`${mutation.name}: within ${MAX_SEEDS} seeds`, { timeout: 600_000 }, async () => {
      const { regions, access, keys, seed } = mutation;
      const size = { ...SMALL_RUN, ...(regions && { regions }), ...(access && { access }), ...(keys && { keys }) };
      const found = await firstToCatch(mutation, [seed, ...seedRange(1, MAX_SEEDS - 1)], size);
      expect(found?.result.failure).toBeInstanceOf(Error);
    });
});
