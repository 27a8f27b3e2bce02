import { describe, expect, it } from 'vitest';
import { expectNoFailure, PORTION, PORTION_TIMEOUT_MS } from './expect-no-failure.js';
import { FAULTS } from './faults/faults.js';
import { HOSTILE_FAULTS } from './faults/hostile-machine.js';
import { REGION_FAULTS } from './faults/region-faults.js';
import type { RunResult } from './simulation.js';
import { ACTIONS } from './workload/actions.js';
import { REGION_ACTIONS } from './workload/region-actions.js';
import { VARIABLE_ACTIONS } from './workload/variable-actions.js';

/** The others are in more-seeds.test.ts, beside these on another core. */
const LAST_SEED = 100;

describe('whatever happens to a cluster', () => {
  /** Faults that happened, and actions of which a user was told that they are done. */
  const seen = new Set<string>();
  const note = ({ faults, acknowledged }: RunResult): void => {
    for (const name of [...faults, ...acknowledged.keys()]) seen.add(name);
  };

  for (let from = 1; from <= LAST_SEED; from += PORTION)
    it(
      `what must hold does, and everything ends (seeds ${from} to ${from + PORTION - 1})`,
      { timeout: PORTION_TIMEOUT_MS },
      () => expectNoFailure(from, from + PORTION - 1, note),
    );

  it('every fault has happened in these runs, and every action has been done', () => {
    const all = [FAULTS, REGION_FAULTS, HOSTILE_FAULTS, ACTIONS, REGION_ACTIONS, VARIABLE_ACTIONS].flatMap(
      (catalogue) => Object.keys(catalogue),
    );
    expect(all.filter((name) => !seen.has(name))).toEqual([]);
  });
});
