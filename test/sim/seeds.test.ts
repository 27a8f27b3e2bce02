import { describe, expect, it } from 'vitest';
import { SMALL_RUN } from './run-plan.js';
import { firstFailure, seedRange } from './seeds.js';
import { storyOf } from './story.js';

const FIXED_SEEDS = 200;
/** Beside the fixed ones, other ones each time. */
const FRESH_SEEDS = 10;
/** Seeds are tried in portions, so that a slow machine shows where it stands. */
const PORTION = 50;

async function expectNoFailure(from: number, to: number): Promise<void> {
  const failed = await firstFailure(seedRange(from, to), SMALL_RUN);
  if (failed) expect.fail(`npm run sim -- --small --seed ${failed.plan.seed}\n${storyOf(failed.plan, failed.result)}`);
}

describe('whatever happens to a cluster', () => {
  for (let from = 1; from <= FIXED_SEEDS; from += PORTION)
    it(`what must hold does, and everything ends (seeds ${from} to ${from + PORTION - 1})`, { timeout: 180_000 }, () =>
      expectNoFailure(from, from + PORTION - 1),
    );

  const fresh = 1_000 + Math.floor(Math.random() * 1_000_000_000);
  it(`the same for seeds nobody has tried (from ${fresh})`, { timeout: 180_000 }, () =>
    expectNoFailure(fresh, fresh + FRESH_SEEDS - 1),
  );
});
