import type { RootKeys } from '@waybill/keyring';
import type { Clock, RootKey } from '@waybill/model';
import type { ProjectionFeed, ReadModel } from '@waybill/projection';
import { REMEMBER_MS } from '../access/callers.js';
import { RecentReads } from '../access/recent-reads.js';

export interface StoredRootKeysDeps {
  readonly model: Pick<ReadModel, 'keyring' | 'tableIndex'>;
  readonly feed: Pick<ProjectionFeed, 'onChange'>;
  readonly clock: Clock;
}

/** The root keys of the read model, all of them read at once and remembered until one changes: there are a handful. */
export function storedRootKeys({ model, feed, clock }: StoredRootKeysDeps): RootKeys {
  const recent = new RecentReads<readonly RootKey[]>({
    most: 1,
    forMs: REMEMBER_MS,
    version: () => model.tableIndex('root_keys'),
    clock,
  });
  feed.onChange(['root_keys'], () => recent.forget());
  const all = (): Promise<readonly RootKey[]> => recent.of('', async () => (await model.keyring.keys()).rows);
  return {
    all,
    find: async (keyId) => (await all()).find(({ KeyID }) => KeyID === keyId),
    active: async () => (await all()).find(({ State }) => State === 'active'),
  };
}
