import { type Applied, StateMachine, TABLE_NAMES } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../database/transaction.js';
import { carefulWrite } from '../set-aside/careful-write.js';
import { type Batch, foldBatch } from './batch.js';
import { differenceOf } from './rewind.js';

/** Transactions per `carefulWrite`, which bounds unanswered statements and the memory of a batch. */
const MAX_REBUILT_TXNS = 500;

/**
 * Every table except that of the migrations. `projection` comes first, because the projector locks it first too and
 * then waits. No table is read, so a damaged page does no harm, and its file is removed with the commit.
 */
export const ALL_TABLES: readonly string[] = [
  'projection',
  'txn',
  'txn_object',
  'set_aside',
  'alloc_job',
  'table_index',
  'log_hashes',
  'log_scrub',
  ...TABLE_NAMES,
];

const EMPTY = `truncate ${ALL_TABLES.map((table) => `"${table}"`).join(', ')};
  insert into projection (id, applied, applied_at, history_floor) values (1, 0, now(), 1)`;

/** The source of a rebuilt database. */
export interface RebuildSource {
  /** The state with which it starts, if not with the first transaction. History and request IDs start after it. */
  readonly base: StateMachine | undefined;
  /**
   * Passes on every transaction after the base in order, as it was applied. Resolves with the index of the last one.
   */
  readonly follow: (take: (applied: readonly Applied[]) => Promise<void>) => Promise<number>;
}

/**
 * Rebuilds PostgreSQL in one database transaction. Until it ends, all readers wait, and after a failure they see the
 * former content. The projector waits too and then continues. Cost: as for projecting everything, with indexes in
 * place, and twice the disk space until the commit.
 * @returns the applied index of PostgreSQL
 */
export function rebuildProjection(pool: Pool, { base, follow }: RebuildSource): Promise<number> {
  return inTransaction(pool, 'rebuild', async (client) => {
    await client.query(EMPTY);
    if (base) await writeBase(client, base);
    return follow(async (applied) => {
      for (let from = 0; from < applied.length; from += MAX_REBUILT_TXNS) {
        const some = applied.slice(from, from + MAX_REBUILT_TXNS);
        await carefulWrite(client, foldBatch(some), some);
      }
    });
  });
}

async function writeBase(client: PoolClient, base: StateMachine): Promise<void> {
  const batch: Batch = {
    from: 0,
    to: base.appliedIndex,
    ...differenceOf(new StateMachine().tables, base.tables),
    tableIndexes: TABLE_NAMES.map((name) => ({ name, index: base.tables[name].tableIndex })),
    txns: [],
    framed: 0,
    objects: [],
  };
  await carefulWrite(client, batch, []);
  await client.query('update projection set history_floor = $1 where id = 1', [base.appliedIndex + 1]);
}
