import type { Batch } from '../writing/batch.js';
import { type RowsStatement, unnesting } from '../writing/statements.js';
import { keyHash, keyOfAllocJob, keyOfRow, type SetAsideRow } from './set-aside-row.js';

/** Which row that was perhaps set aside. */
export type SetAsideKey = Pick<SetAsideRow, 'part' | 'keyHash'>;

/** What is written where it belongs is no longer set aside; most keys were not. */
export const FORGET_SET_ASIDE: RowsStatement<SetAsideKey> = unnesting<SetAsideKey>(
  'forget_set_aside',
  [
    { name: 'part', type: 'text', valueOf: ({ part }) => part },
    { name: 'key_hash', type: 'text', valueOf: ({ keyHash: hash }) => hash },
  ],
  (rows) => `delete from set_aside s using ${rows} as x(part, key_hash)
    where s.part = x.part and s.key_hash = x.key_hash`,
);

/** Every row of the state that a batch writes or removes, and the jobs that its allocations hold. */
export function* rewrittenBy({ tables, allocJobs }: Batch): Generator<SetAsideKey> {
  for (const { table, inserts, updates, removes } of tables)
    for (const rows of [inserts, updates, removes])
      for (const row of rows) yield { part: table, keyHash: keyHash(keyOfRow(table, row)) };
  for (const job of allocJobs) yield { part: 'alloc_job', keyHash: keyHash(keyOfAllocJob(job)) };
}
