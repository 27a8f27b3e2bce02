import { connect, Journal } from '@waybill/journal';
import type { Txn } from '@waybill/state';

/** The log does not begin at index 1 any more: what was before it cannot be checked. */
export class TrimmedLogError extends Error {
  override readonly name = 'TrimmedLogError';
  constructor(readonly first: number) {
    super(`the log begins at index ${first}: what was trimmed cannot be checked`);
  }
}

export interface ReadOptions {
  readonly natsUrl: string;
  /** File with the key of a service. */
  readonly natsCredentials: string | undefined;
  /** Last index to read; default: what the log ends with now. */
  readonly until?: number;
}

/**
 * Hands the whole log from index 1 to `take`, in order.
 * @throws TrimmedLogError, LogUnavailableError, and what the log's decoder throws
 */
export async function readLog(
  { natsUrl, natsCredentials, until }: ReadOptions,
  take: (txn: Txn) => void,
): Promise<void> {
  const link = await connect({
    url: natsUrl,
    name: 'verify',
    credentialsFile: natsCredentials,
  });
  const journal = new Journal(link);
  try {
    const { first, last } = await journal.bounds();
    if (last > 0 && first > 1) throw new TrimmedLogError(first);
    const end = Math.min(until ?? last, last);
    if (end === 0) return;
    await new Promise<void>((resolve, reject) => {
      const following = journal.follow({
        from: 1,
        onTxns: (batch) => {
          for (const txn of batch) {
            if (txn.index <= end) take(txn);
            if (txn.index >= end) resolve();
          }
        },
        onError: reject,
      });
      following.catch(reject);
    });
  } finally {
    journal.close();
    await link.close();
  }
}
