import { Turns } from '@waybill/model';
import { namespacedKey } from '@waybill/state';

/**
 * Serializes the work on each volume: operators' requests, and the recording of claims. So a disk that is about to be
 * deleted cannot be claimed, and a volume is not created or expanded twice at once. Releases do not wait here. One
 * instance for each term.
 */
export class VolumeTurns {
  private readonly turns = new Turns();

  /**
   * Runs `work` when no other work on any of these volumes is in progress. Locks are taken in a fixed order, so that
   * there is no deadlock.
   */
  runInTurns<T>(namespace: string, ids: readonly string[], work: () => Promise<T>): Promise<T> {
    return this.holdKeys(
      ids.map((id) => namespacedKey(namespace, id)),
      work,
    );
  }

  holdAll<T>(volumes: readonly { Namespace: string; ID: string }[], work: () => Promise<T>): Promise<T> {
    return this.holdKeys(
      volumes.map(({ Namespace, ID }) => namespacedKey(Namespace, ID)),
      work,
    );
  }

  private holdKeys<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    return [...new Set(keys)].toSorted().reduceRight((inner, key) => () => this.turns.runInTurn(key, inner), work)();
  }
}
