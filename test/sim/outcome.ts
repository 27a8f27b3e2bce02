import { MUTATIONS } from './mutations/mutations.js';
import type { RunPlan } from './run-plan.js';
import { type RunResult, simulate } from './simulation.js';

/** A run in a line: what can be told from one process to another. */
export interface Outcome {
  readonly seed: number;
  readonly hash: string;
  readonly transactions: number;
  /** Writes of users that were acknowledged. */
  readonly acknowledged: number;
  readonly simulatedMs: number;
  /** What does not hold. */
  readonly failure?: string;
}

/** Where errors come from is not noted: whoever wants to know runs the seed once more. */
export async function outcomeOf(plan: RunPlan): Promise<Outcome> {
  const { seed, hash, transactions, acknowledged, simulatedMs, failure }: RunResult = await withoutStacks(() =>
    simulate(plan),
  );
  const writes = [...acknowledged.values()].reduce((sum, times) => sum + times, 0);
  return {
    seed,
    hash,
    transactions,
    acknowledged: writes,
    simulatedMs,
    ...(failure && { failure: failure.message }),
  };
}

async function withoutStacks<T>(run: () => Promise<T>): Promise<T> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  return run().finally(() => (Error.stackTraceLimit = stackTraceLimit));
}

export class NoSuchMutationError extends Error {
  override readonly name = 'NoSuchMutationError';
  constructor(name: string) {
    super(`there is no mutation "${name}"; there are:\n${MUTATIONS.map((one) => `  ${one.name}`).join('\n')}`);
  }
}

/** For the rest of this process. @throws NoSuchMutationError */
export function switchOn(name: string): void {
  const mutation = MUTATIONS.find((one) => one.name === name);
  if (!mutation) throw new NoSuchMutationError(name);
  mutation.apply();
}
