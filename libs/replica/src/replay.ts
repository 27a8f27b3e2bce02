import type { Log } from '@waybill/journal';
import type { Applied, StateMachine } from '@waybill/state';

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
  signal?.throwIfAborted();
  if (machine.appliedIndex >= to) return undefined;
  let last: Applied | undefined;
  let resolve = (): void => {};
  let reject: (reason: unknown) => void = () => {};
  const ended = new Promise<void>((...settle) => ([resolve, reject] = settle));
  ended.catch(() => {}); // it is awaited once the follower has begun
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort);
  try {
    const follower = await log.follow({
      from: machine.appliedIndex + 1,
      onTxns: async (batch) => {
        const applied = batch.filter(({ index }) => index <= to).map((txn) => machine.apply(txn));
        last = applied.at(-1) ?? last;
        if (applied.length > 0) await take?.(applied);
        if (machine.appliedIndex >= to) resolve();
      },
      onError: (error) => reject(error),
    });
    try {
      await ended;
    } finally {
      await follower.stop();
    }
  } finally {
    signal?.removeEventListener('abort', abort);
  }
  return last;
}
