import { Turns } from '@waybill/model';
import { namespacedKey } from '@waybill/state';

/**
 * What is done to one volume at a time: operators' requests, and the recording of claims. So nobody claims a disk that
 * is about to be deleted, and a volume is not created or expanded twice at once. Releases do not wait here. One per term.
 */
export class VolumeTurns {
  private readonly turns = new Turns();

  /** Runs `work` when nothing else is done to any of these. Always taken in the same order, so that nobody waits in a circle. */
  hold<T>(namespace: string, ids: readonly string[], work: () => Promise<T>): Promise<T> {
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
    return [...new Set(keys)].toSorted().reduceRight((inner, key) => () => this.turns.take(key, inner), work)();
  }
}
