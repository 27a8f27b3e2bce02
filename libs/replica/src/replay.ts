import type { Log } from '@waybill/journal';
import type { Applied, StateMachine } from '@waybill/state';
import { readLog } from './read-log.js';

export interface ReplayOptions {
  /** Gets the applied transactions, in order, before more are read. */
  readonly take?: (applied: readonly Applied[]) => Promise<void>;
  /** Ends the replay with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * Applies the log up to an index that it has; answers the last applied transaction. Waits while the log is unreachable.
 *
 * @throws what the log and `take` fail with, and the reason of the signal
 */
export async function replay(
  log: Pick<Log, 'follow'>,
  machine: StateMachine,
  to: number,
  { take, signal }: ReplayOptions = {},
): Promise<Applied | undefined> {
  let last: Applied | undefined;
  await readLog(log, {
    first: machine.appliedIndex + 1,
    last: to,
    take: async (txns) => {
      const applied = txns.map((txn) => machine.apply(txn));
      last = applied.at(-1) ?? last;
      await take?.(applied);
    },
    signal,
  });
  return last;
}
