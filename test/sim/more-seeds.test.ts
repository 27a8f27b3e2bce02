import { describe, it } from 'vitest';
import { expectNoFailure, PORTION, PORTION_TIMEOUT_MS } from './expect-no-failure.js';

const FIRST_SEED = 101;
const LAST_SEED = 150;
/** Beside the fixed ones, other ones each time. */
const FRESH_SEEDS = 10;

describe('whatever happens to a cluster', () => {
  for (let from = FIRST_SEED; from <= LAST_SEED; from += PORTION)
    it(
      `what must hold does, and everything ends (seeds ${from} to ${from + PORTION - 1})`,
      { timeout: PORTION_TIMEOUT_MS },
      () => expectNoFailure(from, from + PORTION - 1),
    );

  const fresh = 1_000 + Math.floor(Math.random() * 1_000_000_000);
  it(`the same for seeds nobody has tried (from ${fresh})`, { timeout: PORTION_TIMEOUT_MS }, () =>
    expectNoFailure(fresh, fresh + FRESH_SEEDS - 1),
  );
});
