import type { RootKey } from '@waybill/model';
import { Conditions, findStatement } from './list-query.js';
import type { ListOrder } from './page.js';
import { type Found, type Listed, listOf, type ListOptions, type RowReads } from './row-reads.js';

const FIND_KEY = findStatement('root_keys', ['key_id']);

const byKeyId: ListOrder<RootKey> = {
  columns: ['key_id'],
  tokenOf: ({ KeyID }) => KeyID,
  parse: (token) => [token],
};

/**
 * Reads of root keys as stored, with wrapped keys. Encode them before they leave the process. Part of the read model.
 */
export class KeyringReads {
  constructor(private readonly rows: RowReads) {}

  key(keyId: string): Promise<Found<RootKey>> {
    return this.rows.find(FIND_KEY, [keyId]);
  }

  /** Lists root keys by ID. */
  keys(options: ListOptions<RootKey> = {}): Promise<Listed<RootKey>> {
    const conditions = (): Conditions => new Conditions().startsWith('key_id', (options.prefix ?? '').toLowerCase());
    return this.rows.list(listOf('root_keys', conditions, byKeyId, options), options.keep);
  }
}
