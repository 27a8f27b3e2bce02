import type { Log } from '@waybill/journal';
import type { Txn } from '@waybill/state';

export interface ReadLogOptions {
  /** The first and the last index to read. The log has both. */
  readonly first: number;
  readonly last: number;
  /** Gets the transactions in order. The next ones wait until it has resolved. */
  readonly take: (txns: readonly Txn[]) => Promise<void> | void;
  /** Ends the reading with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads a part of the log. Waits while the log is unreachable.
 *
 * @throws what the log and `take` fail with, and the reason of the signal
 */
export async function readLog(log: Pick<Log, 'follow'>, { first, last, take, signal }: ReadLogOptions): Promise<void> {
  signal?.throwIfAborted();
  if (first > last) return;
  let resolve = (): void => {};
  let reject: (reason: unknown) => void = () => {};
  const ended = new Promise<void>((...settle) => ([resolve, reject] = settle));
  ended.catch(() => {}); // it is awaited once the follower has begun
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort);
  try {
    const follower = await log.follow({
      from: first,
      onTxns: async (batch) => {
        const wanted = batch.filter(({ index }) => index <= last);
        if (wanted.length > 0) await take(wanted);
        if ((batch.at(-1)?.index ?? 0) >= last) resolve();
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
}
