import type { Mutation } from './mutations/mutations.js';
import { planOf, type RunPlan, type RunSize, SHORT_RUN } from './run-plan.js';
import { type RunResult, simulate } from './simulation.js';

/** A run that found something. */
export interface FailedRun {
  readonly plan: RunPlan;
  readonly result: RunResult;
  /** Runs until then, this one included. */
  readonly runs: number;
}

/** Runs seed after seed until one fails; undefined: none did. */
export async function firstFailure(seeds: Iterable<number>, size: RunSize = SHORT_RUN): Promise<FailedRun | undefined> {
  let runs = 0;
  for (const seed of seeds) {
    const plan = planOf(seed, size);
    const result = await simulate(plan);
    runs++;
    if (result.failure) return { plan, result, runs };
  }
  return undefined;
}

/** The first seed that catches a mutation. */
export async function caught(
  mutation: Mutation,
  seeds: Iterable<number>,
  size?: RunSize,
): Promise<FailedRun | undefined> {
  const undo = mutation.apply();
  try {
    return await firstFailure(seeds, size);
  } finally {
    undo();
  }
}

export function* seedRange(from: number, to: number): Generator<number> {
  for (let seed = from; seed <= to; seed++) yield seed;
}
