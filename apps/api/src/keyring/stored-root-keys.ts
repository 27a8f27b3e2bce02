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
 * The root keys of the read model, all of them read at once and remembered until one changes: there are a handful. A key that
 * is asked for by its ID and not there is waited for (AU-144): a machine may have a token that it has just signed.
 */
export function storedRootKeys({ model, feed, clock }: StoredRootKeysDeps): RootKeys {
  const recent = new RecentReads<readonly RootKey[]>({
    most: 1,
    forMs: REMEMBER_MS,
    version: () => model.tableIndex('root_keys'),
    clock,
  });
  feed.onChange(['root_keys'], () => recent.forget());
  const all = (): Promise<readonly RootKey[]> => recent.of('', async () => (await model.keyring.keys()).rows);
  const awaited = new AwaitedReads({ feed, clock, most: MAX_AWAITING });
  return {
    all,
    find: (keyId) => awaited.of([['root_keys', keyId]], async () => (await all()).find(({ KeyID }) => KeyID === keyId)),
    active: async () => (await all()).find(({ State }) => State === 'active'),
  };
}
