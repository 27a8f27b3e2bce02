import type { Journal } from '@waybill/journal';
import type { Txn } from '@waybill/state';

/** Passes the transactions from `first` to `last`, which the log has. @throws what the log fails with */
export async function readLog(
  log: Pick<Journal, 'follow'>,
  { first, last }: { readonly first: number; readonly last: number },
  take: (txns: readonly Txn[]) => void,
): Promise<void> {
  if (first > last) return;
  let resolve = (): void => {};
  let reject: (reason: unknown) => void = () => {};
  const read = new Promise<void>((...settle) => ([resolve, reject] = settle));
  read.catch(() => {}); // it is awaited once the follower has begun
  const follower = await log.follow({
    from: first,
    onTxns: (txns) => {
      take(txns.filter(({ index }) => index <= last));
      if ((txns.at(-1)?.index ?? 0) >= last) resolve();
    },
    onError: (error) => reject(error),
  });
  try {
    await read;
  } finally {
    await follower.stop();
  }
}
