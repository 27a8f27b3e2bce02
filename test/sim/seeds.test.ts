import { describe, expect, it } from 'vitest';
import { FAULTS } from './faults/faults.js';
import { HOSTILE_FAULTS } from './faults/hostile-machine.js';
import { REGION_FAULTS } from './faults/region-faults.js';
import { SMALL_RUN } from './run-plan.js';
import { firstFailure, seedRange } from './seeds.js';
import type { RunResult } from './simulation.js';
import { storyOf } from './story.js';
import { ACTIONS } from './workload/actions.js';
import { REGION_ACTIONS } from './workload/region-actions.js';
import { VARIABLE_ACTIONS } from './workload/variable-actions.js';

const FIXED_SEEDS = 200;
/** Beside the fixed ones, other ones each time. */
const FRESH_SEEDS = 10;
/** Seeds are tried in portions, so that a slow machine shows where it stands. */
const PORTION = 50;

async function expectNoFailure(from: number, to: number, onRun?: (result: RunResult) => void): Promise<void> {
  const failed = await firstFailure(seedRange(from, to), SMALL_RUN, onRun);
  if (failed) expect.fail(`npm run sim -- --small --seed ${failed.plan.seed}\n${storyOf(failed.plan, failed.result)}`);
}

describe('whatever happens to a cluster', () => {
  /** Faults that happened, and actions of which a user was told that they are done. */
  const seen = new Set<string>();
  const note = ({ faults, acknowledged }: RunResult): void => {
    for (const name of [...faults, ...acknowledged.keys()]) seen.add(name);
  };

  for (let from = 1; from <= FIXED_SEEDS; from += PORTION)
    it(`what must hold does, and everything ends (seeds ${from} to ${from + PORTION - 1})`, { timeout: 600_000 }, () =>
      expectNoFailure(from, from + PORTION - 1, note),
    );

  it('every fault has happened in these runs, and every action has been done', () => {
    const all = [FAULTS, REGION_FAULTS, HOSTILE_FAULTS, ACTIONS, REGION_ACTIONS, VARIABLE_ACTIONS].flatMap(
      (catalogue) => Object.keys(catalogue),
    );
    expect(all.filter((name) => !seen.has(name))).toEqual([]);
  });

  const fresh = 1_000 + Math.floor(Math.random() * 1_000_000_000);
  it(`the same for seeds nobody has tried (from ${fresh})`, { timeout: 600_000 }, () =>
    expectNoFailure(fresh, fresh + FRESH_SEEDS - 1),
  );
});
