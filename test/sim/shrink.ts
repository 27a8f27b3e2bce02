import { InvariantError } from './checks/violation.js';
import type { PlannedEvent, RunPlan } from './run-plan.js';
import { type RunResult, simulate } from './simulation.js';

/** Runs that shrinking may take. */
export const MAX_SHRINK_RUNS = 150;

/** What a plan was shrunk to. */
export interface Shrunk {
  readonly plan: RunPlan;
  readonly result: RunResult;
  readonly runs: number;
}

/**
 * Leaves out as many actions and faults of a failed run as it can while the same invariant still breaks: half of them at
 * a time, then quarters, down to single ones (delta debugging). What stays keeps its time and its luck.
 * Cost: at most MAX_SHRINK_RUNS runs, each shorter than the ones before.
 */
export async function shrink(plan: RunPlan, result: RunResult): Promise<Shrunk> {
  const wanted = invariantOf(result.failure);
  let best: Shrunk = { plan, result, runs: 0 };
  let runs = 0;
  const fails = async (events: readonly PlannedEvent[]): Promise<boolean> => {
    runs++;
    const smaller: RunPlan = { ...plan, events };
    const tried = await simulate(smaller);
    if (!tried.failure || invariantOf(tried.failure) !== wanted) return false;
    best = { plan: smaller, result: tried, runs };
    return true;
  };
  for (let portion = Math.ceil(plan.events.length / 2); runs < MAX_SHRINK_RUNS; portion = Math.ceil(portion / 2)) {
    let at = 0;
    while (at < best.plan.events.length && runs < MAX_SHRINK_RUNS) {
      const { events } = best.plan;
      const without = [...events.slice(0, at), ...events.slice(at + portion)];
      if (!(await fails(without))) at += portion;
    }
    if (portion === 1) break;
  }
  return { ...best, runs };
}

const invariantOf = (failure: Error | undefined): string =>
  failure instanceof InvariantError ? failure.invariant : (failure?.name ?? '');
