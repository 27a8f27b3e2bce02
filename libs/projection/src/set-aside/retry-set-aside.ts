import type { Allocation, Job } from '@waybill/model';
import type { ObjectChange } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { inTransaction } from '../database/transaction.js';
import { SharedTexts } from '../writing/shared-texts.js';
import {
  INSERT_TXN_OBJECTS,
  INSERT_TXNS,
  type Step,
  STORE_ALLOC_JOBS,
  TABLE_STATEMENTS,
} from '../writing/statements.js';
import { plainText, storedText } from '../writing/stored-text.js';
import { AllocJobsRead } from '../reading/alloc-jobs.js';
import { refusalOf } from './careful-write.js';
import { setAsideJobs } from './load-set-aside.js';
import { isTableName, type SetAsideBodies, type SetAsidePart, type SetAsideRow } from './set-aside-row.js';

/** Rows per database transaction. The projector waits for that at most. */
export const MAX_RETRIED_AT_ONCE = 100;

/** A row that was set aside, in the form for people. */
export type SetAside = Omit<SetAsideRow, 'keyHash' | 'jobKey' | 'body'>;

/** The result of a retry. */
export interface Retried {
  readonly stored: number;
  readonly left: number;
}

interface SetAsideColumns {
  readonly part: SetAsidePart;
  readonly key_hash: string;
  readonly index: number;
  readonly txn_name: string;
  readonly time_ns: number;
  readonly object: string;
  readonly sqlstate: string;
  readonly error: string;
  readonly gone: boolean;
}

interface KeptRow {
  readonly part: SetAsidePart;
  readonly key_hash: string;
  readonly job_key: string;
  readonly gone: boolean;
  readonly body: object;
}

type Key = Pick<KeptRow, 'part' | 'key_hash'>;

/** The rows that PostgreSQL refused to store, for listing and retrying. Stateless. */
export class SetAsideRows {
  constructor(private readonly pool: Pool) {}

  /** Counts the rows. Cost: examines each. */
  async count(): Promise<number> {
    const { rows } = await this.pool.query<{ count: number }>({
      text: 'select count(*) as count from set_aside',
      types: columnTypes,
    });
    return rows[0]?.count ?? 0;
  }

  /** Lists the oldest rows first. */
  async list(limit: number): Promise<readonly SetAside[]> {
    const { rows } = await this.pool.query<SetAsideColumns>({
      text: `select part, key_hash, index, txn_name, time_ns, object, sqlstate, error, gone
        from set_aside order by index, part, key_hash limit $1`,
      values: [limit],
      types: columnTypes,
    });
    return rows.map((row) => ({
      part: row.part,
      index: row.index,
      txnName: row.txn_name,
      timeNs: row.time_ns,
      object: plainText(row.object),
      sqlstate: row.sqlstate,
      error: plainText(row.error),
      gone: row.gone,
    }));
  }

  /**
   * Retries to store all rows in their tables. A row that is refused again stays, with the new reason. The writer of
   * the projection waits meanwhile, MAX_RETRIED_AT_ONCE rows at a time, so none of its writes is overwritten by an
   * older row.
   */
  async retry(): Promise<Retried> {
    const { rows: keys } = await this.pool.query<Key>(
      'select part, key_hash from set_aside order by index, part, key_hash',
    );
    let stored = 0;
    for (let from = 0; from < keys.length; from += MAX_RETRIED_AT_ONCE) {
      const some = keys.slice(from, from + MAX_RETRIED_AT_ONCE);
      stored += await inTransaction(this.pool, 'write', (client) => retrySome(client, some));
    }
    return { stored, left: await this.count() };
  }
}

async function retrySome(client: PoolClient, keys: readonly Key[]): Promise<number> {
  await client.query('select from projection where id = 1 for update');
  await client.query('set constraints all immediate');
  let stored = 0;
  for (const { part, key_hash: hash } of keys) {
    const { rows } = await client.query<KeptRow>({
      text: 'select part, key_hash, job_key, gone, body from set_aside where part = $1 and key_hash = $2',
      values: [part, hash],
      types: columnTypes,
    });
    const [kept] = rows;
    if (!kept) continue; // written meanwhile
    const whole = kept.part === 'allocs' ? { ...kept, body: await withJob(client, kept) } : kept;
    const refusal = await refusalOf(client, () => stepOf(whole));
    if (refusal)
      await client.query('update set_aside set sqlstate = $3, error = $4 where part = $1 and key_hash = $2', [
        part,
        hash,
        refusal.sqlstate,
        storedText(refusal.error),
      ]);
    else {
      await client.query('delete from set_aside where part = $1 and key_hash = $2', [part, hash]);
      stored += 1;
    }
  }
  return stored;
}

/** Adds the job of an allocation, which is stored separately or set aside itself. */
async function withJob(client: PoolClient, { body, job_key: key }: KeptRow): Promise<Allocation> {
  const { rows } = await client.query<{ job: Job }>({
    text: 'select body as job from alloc_job where key = $1 limit 1',
    values: [key],
    types: columnTypes,
  });
  const job = rows[0]?.job ?? (await setAsideJobs(client)).get(key) ?? null;
  return new AllocJobsRead().complete(body as Allocation, key, () => job);
}

/** Builds the statement that stores a row. The body has the form of its part (`SetAsideBodies`). */
function stepOf({ part, gone, body }: KeptRow): Step {
  const texts = new SharedTexts();
  if (isTableName(part)) return TABLE_STATEMENTS[part][gone ? 'remove' : 'upsert'].of([body], texts);
  switch (part) {
    case 'alloc_job':
      return STORE_ALLOC_JOBS.of([body as SetAsideBodies['alloc_job']], texts);
    case 'txn': {
      const { txn, verdict } = body as SetAsideBodies['txn'];
      return INSERT_TXNS.of([{ txn, verdict }], texts);
    }
    case 'txn_object': {
      const kept = body as SetAsideBodies['txn_object'];
      const object: ObjectChange = { ...kept.object, change: undefined };
      return INSERT_TXN_OBJECTS.of([{ ...kept, object }], texts);
    }
  }
}
