import { type Applied, StateMachine, TABLE_NAMES } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../database/transaction.js';
import { carefulWrite } from '../set-aside/careful-write.js';
import { type Batch, foldBatch } from './batch.js';
import { differenceOf } from './rewind.js';

/** Of `carefulWrite` at once: bounds what is sent and not answered, and the memory of a batch. */
const MAX_REBUILT_TXNS = 500;

/**
 * Every table but that of the migrations. `projection` first: the projector takes it first too, and waits there. None is
 * read: a damaged page stands in nobody's way, and its file is gone with the commit.
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

/** What a database is filled from. */
export interface RebuildSource {
  /** The state to begin with, if not with the first transaction: history and request ids begin behind it. */
  readonly base: StateMachine | undefined;
  /** Hands over every transaction behind the base, as it was applied, in order. Resolves with the last one's index. */
  readonly follow: (take: (applied: readonly Applied[]) => Promise<void>) => Promise<number>;
}

/**
 * Fills Postgres anew, in one database transaction: until it ends everybody who reads waits, and then reads what was there
 * before, whole. The projector waits too, and goes on where it was.
 * Cost: as projecting all of it, with indexes in place; twice the disk until the commit.
 * @returns the index that Postgres is at
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
