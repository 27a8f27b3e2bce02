import { expect } from 'vitest';
import { SMALL_RUN } from './run-plan.js';
import { firstFailure, seedRange } from './seeds.js';
import type { RunResult } from './simulation.js';
import { storyOf } from './story.js';

/** Seeds are tried in portions, so that a slow machine shows where it stands. */
export const PORTION = 50;
/** The longest that a slow machine takes for one. */
export const PORTION_TIMEOUT_MS = 600_000;

/** Small runs of these seeds, the last included. */
export async function expectNoFailure(from: number, to: number, onRun?: (result: RunResult) => void): Promise<void> {
  const failed = await firstFailure(seedRange(from, to), SMALL_RUN, onRun);
  if (failed) expect.fail(`npm run sim -- --small --seed ${failed.plan.seed}\n${storyOf(failed.plan, failed.result)}`);
}
