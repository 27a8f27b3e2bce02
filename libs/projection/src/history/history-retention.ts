import { type ClusterMetaRow, REQUEST_WINDOW_NS } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { inTransaction } from '../database/transaction.js';

/** Records removed per database transaction. The writer of the projection waits for that at most. */
export const MAX_TRIMMED_TXNS = 2_000;

/**
 * Removes the oldest part of the history: records of transactions, their changes, and jobs that only they referenced.
 * The window of request IDs stays, because starting copies of the state load it (ST-6). Stateless; concurrent runs do
 * no harm.
 */
export class HistoryRetention {
  constructor(private readonly pool: Pool) {}

  /** Removes records older than `beforeNs`, in order, up to the first newer one. Returns the new floor. */
  async trim(beforeNs: number, signal: AbortSignal): Promise<number> {
    let floor = await this.floor();
    while (!signal.aborted) {
      const next = await inTransaction(this.pool, 'write', (client) => trimSome(client, floor, beforeNs));
      if (next === floor) break;
      floor = next;
    }
    await inTransaction(this.pool, 'write', releaseJobs);
    return floor;
  }

  /**
   * Returns the last index older than `beforeNs` that a start from PostgreSQL does not need from the log, with `keep`
   * more indexes left for copies of the state that are behind. 0 for none.
   */
  async expendableIndex(beforeNs: number, keep: number): Promise<number> {
    const { rows } = await this.pool.query<{ index: number }>({
      text: `select least(p.applied - $2, old.index) as index from projection p,
        lateral (select index from txn where time_ns < $1 order by time_ns desc limit 1) old where p.id = 1`,
      values: [beforeNs, keep],
      types: columnTypes,
    });
    return Math.max(0, rows[0]?.index ?? 0);
  }

  /** Returns the index before which a user has had the log erased (ST-186); 0: nobody has. */
  async erasedBefore(): Promise<number> {
    const { rows } = await this.pool.query<{ body: ClusterMetaRow }>({
      text: 'select body from cluster_meta',
      types: columnTypes,
    });
    return rows[0]?.body.ErasedBefore ?? 0;
  }

  /** Returns the lowest index with a history. */
  async floor(): Promise<number> {
    const { rows } = await this.pool.query<{ floor: number }>({
      text: 'select history_floor as floor from projection where id = 1',
      types: columnTypes,
    });
    return rows[0]?.floor ?? 1;
  }
}

async function trimSome(client: PoolClient, floor: number, beforeNs: number): Promise<number> {
  const { rows } = await client.query<{ next: number | null }>({
    text: `with oldest as (select index, time_ns from txn where index >= $1 order by index limit ${MAX_TRIMMED_TXNS})
      select coalesce(min(index) filter (where time_ns >= least($2,
        (select max(time_ns) from txn) - ${REQUEST_WINDOW_NS})), max(index) + 1) as next from oldest`,
    values: [floor, beforeNs],
    types: columnTypes,
  });
  const next = rows[0]?.next ?? floor;
  if (next <= floor) return floor;
  await client.query('delete from txn_object where index < $1', [next]);
  await client.query('delete from txn where index < $1', [next]);
  await client.query(`delete from set_aside where part in ('txn', 'txn_object') and index < $1`, [next]);
  await client.query('update projection set history_floor = greatest(history_floor, $1) where id = 1', [next]);
  return next;
}

/**
 * Removes jobs that no allocation and no history references. The writer of the projection is locked out meanwhile,
 * because it may rely on such a job. Cost: examines every stored version of a job.
 */
async function releaseJobs(client: PoolClient): Promise<void> {
  await client.query('select from projection where id = 1 for update');
  await client.query(`delete from alloc_job j
    where not exists (
      select from allocs a where a.namespace = j.namespace and a.job_id = j.job_id and a.job_key = j.key)
    and not exists (select from txn_object o where o.job_key = j.key and o.job_key <> '')
    and not exists (select from set_aside s where s.job_key = j.key)`);
  // A job may have been set aside itself.
  await client.query(`delete from set_aside j where part = 'alloc_job' and not exists (
      select from set_aside s where s.job_key = j.body::json ->> 'key')
    and not exists (select from allocs a where a.job_key = j.body::json ->> 'key')
    and not exists (select from txn_object o where o.job_key = j.body::json ->> 'key' and o.job_key <> '')`);
}
