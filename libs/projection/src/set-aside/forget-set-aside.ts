import type { Batch } from '../writing/batch.js';
import { type RowsStatement, unnesting } from '../writing/statements.js';
import { keyHash, keyOfAllocJob, keyOfRow, type SetAsideRow } from './set-aside-row.js';

/** Identifies a row that may have been set aside. */
export type SetAsideKey = Pick<SetAsideRow, 'part' | 'keyHash'>;

/** Removes rows from those that are set aside once they are written to their tables. Most keys are not among them. */
export const FORGET_SET_ASIDE: RowsStatement<SetAsideKey> = unnesting<SetAsideKey>(
  'forget_set_aside',
  [
    { name: 'part', type: 'text', valueOf: ({ part }) => part },
    { name: 'key_hash', type: 'text', valueOf: ({ keyHash: hash }) => hash },
  ],
  (rows) => `delete from set_aside s using ${rows} as x(part, key_hash)
    where s.part = x.part and s.key_hash = x.key_hash`,
);

/** Yields every row of the state that a batch writes or removes, and the jobs of its allocations. */
export function* rewrittenBy({ tables, allocJobs }: Batch): Generator<SetAsideKey> {
  for (const { table, inserts, updates, removes } of tables)
    for (const rows of [inserts, updates, removes])
      for (const row of rows) yield { part: table, keyHash: keyHash(keyOfRow(table, row)) };
  for (const job of allocJobs) yield { part: 'alloc_job', keyHash: keyHash(keyOfAllocJob(job)) };
}
