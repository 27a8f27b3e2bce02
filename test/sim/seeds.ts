import type { Mutation } from './mutations/mutations.js';
import { planOf, type RunPlan, type AnySize, SHORT_RUN } from './run-plan.js';
import { type RunResult, simulate } from './simulation.js';

/** A run that found something. */
export interface FailedRun {
  readonly plan: RunPlan;
  readonly result: RunResult;
  /** Runs until then, this one included. */
  readonly runs: number;
}

/** Runs seed after seed until one fails; undefined: none did. */
export async function firstFailure(
  seeds: Iterable<number>,
  size: AnySize = SHORT_RUN,
  onRun: (result: RunResult) => void = () => {},
): Promise<FailedRun | undefined> {
  let runs = 0;
  for (const seed of seeds) {
    const plan = planOf(seed, size);
    const result = await simulate(plan);
    runs++;
    onRun(result);
    if (result.failure) return { plan, result, runs };
  }
  return undefined;
}

/** The first run that fails with a mutation and not without it: that has caught it. */
export async function firstToCatch(
  mutation: Mutation,
  seeds: Iterable<number>,
  size?: AnySize,
): Promise<FailedRun | undefined> {
  const untried = seeds[Symbol.iterator]();
  let runs = 0;
  for (;;) {
    const undo = mutation.apply();
    const failed = await firstFailure(rest(untried), size).finally(undo);
    if (!failed) return undefined;
    runs += failed.runs;
    if (await isSound(failed.plan)) return { ...failed, runs };
  }
}

/** Whether a run of product code fails in no way. Several mutations are caught in the same run, which is done once. */
function isSound(plan: RunPlan): Promise<boolean> {
  const { events: _events, ...size } = plan;
  const key = JSON.stringify(size);
  const known = soundRuns.get(key) ?? simulate(plan).then(({ failure }) => failure === undefined);
  soundRuns.set(key, known);
  return known;
}

const soundRuns = new Map<string, Promise<boolean>>();

/** What an iterator has left; ending the loop over it does not end the iterator. */
function* rest(untried: Iterator<number>): Generator<number> {
  for (let next = untried.next(); !next.done; next = untried.next()) yield next.value;
}

export function* seedRange(from: number, to: number): Generator<number> {
  for (let seed = from; seed <= to; seed++) yield seed;
}
