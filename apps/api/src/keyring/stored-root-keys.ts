import type { RootKeys } from '@waybill/keyring';
import type { Clock, RootKey } from '@waybill/model';
import type { ProjectionFeed, ReadModel } from '@waybill/projection';
import { AwaitedReads, MAX_AWAITING } from '../access/awaited-reads.js';
import { REMEMBER_MS } from '../access/callers.js';
import { RecentReads } from '../access/recent-reads.js';

export interface StoredRootKeysDeps {
  readonly model: Pick<ReadModel, 'keyring' | 'tableIndex'>;
  readonly feed: Pick<ProjectionFeed, 'onChange' | 'watch'>;
  readonly clock: Clock;
}

/**
 * Returns the root keys of the read model. All keys are read at once and remembered until one changes; there are a
 * handful. A key that is not among them is read anew, because an API that hears no announcements does not know of a
 * rotation (OP-206). A read of a missing key by its ID also waits for it (AU-144), because a machine may have a token
 * that the key has just signed.
 */
export function storedRootKeys({ model, feed, clock }: StoredRootKeysDeps): RootKeys {
  const recent = new RecentReads<readonly RootKey[]>({
    most: 1,
    forMs: REMEMBER_MS,
    version: () => model.tableIndex('root_keys'),
    clock,
  });
  feed.onChange(['root_keys'], () => recent.clearValues());
  const all = (): Promise<readonly RootKey[]> => recent.of('', async () => (await model.keyring.keys()).rows);
  const allAnew = (): Promise<readonly RootKey[]> => {
    recent.clearValues();
    return all();
  };
  const awaited = new AwaitedReads({ feed, clock, most: MAX_AWAITING });
  return {
    all,
    find: (keyId) => {
      const among = async (keys: Promise<readonly RootKey[]>) => (await keys).find(({ KeyID }) => KeyID === keyId);
      return awaited.of(
        [['root_keys', keyId]],
        () => among(all()),
        () => among(allAnew()),
      );
    },
    active: async () => (await all()).find(({ State }) => State === 'active'),
  };
}
