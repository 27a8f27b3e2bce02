import type { Follower, Log } from '@waybill/journal';
import type { Applied, StateMachine } from '@waybill/state';

/**
 * Applies the log up to an index that it has; answers what was applied last.
 * @param take gets what was applied, in order, before more is read
 */
export async function replay(
  log: Pick<Log, 'follow'>,
  machine: StateMachine,
  to: number,
  take?: (applied: readonly Applied[]) => Promise<void>,
): Promise<Applied | undefined> {
  if (machine.appliedIndex >= to) return undefined;
  let last: Applied | undefined;
  let follower: Follower | undefined;
  await new Promise<void>((resolve, reject) => {
    const following = log.follow({
      from: machine.appliedIndex + 1,
      onTxns: async (batch) => {
        const applied = batch.filter(({ index }) => index <= to).map((txn) => machine.apply(txn));
        last = applied.at(-1) ?? last;
        if (applied.length > 0) await take?.(applied);
        if (machine.appliedIndex >= to) resolve();
      },
      onError: reject,
    });
    following.then((begun) => (follower = begun), reject);
  });
  await follower?.stop();
  return last;
}
