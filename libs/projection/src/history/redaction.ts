import type { Allocation, Job, JobSubmission } from '@waybill/model';
import { TABLE_NAMES, type TableName } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { inTransaction } from '../database/transaction.js';
import { TABLE_LAYOUTS } from '../writing/table-layout.js';
import { storedJson } from '../writing/stored-text.js';

/** Transactions whose records are examined per database transaction. */
export const MAX_EXAMINED_TXNS = 2_000;
/** Most rows of the state with a text. Beyond it the text is no secret in a job file. */
export const MAX_FOUND_ROWS = 10_000;
/** Milliseconds that a statement may take that reads a whole table as texts: a gigabyte takes some seconds. */
export const WHOLE_TABLE_TIMEOUT_MS = 600_000;
/** Most rows of other tables that are named. */
export const MAX_NAMED_ROWS = 20;

/** A row that contains the text and that a redaction leaves alone. */
export interface OtherRow {
  readonly table: TableName | 'set_aside';
  readonly key: string;
}

/** The rows of the state that contain a text. */
export interface FoundTexts {
  readonly jobs: readonly Job[];
  readonly versions: readonly Job[];
  readonly submissions: readonly JobSubmission[];
  /** Allocations without their job. */
  readonly allocs: readonly Allocation[];
  /** Jobs of allocations, each once. */
  readonly allocJobs: readonly Job[];
  /** IDs of allocations that have not ended and whose job contains the text. */
  readonly running: readonly string[];
  /** At most MAX_NAMED_ROWS. */
  readonly others: readonly OtherRow[];
}

/** How texts are found and replaced. */
export interface TextReplacement {
  /** The text in every form in which a stored row may contain it, as part of a JSON text or alone. */
  readonly needles: readonly string[];
  /** Replaces the text in a text. */
  text(text: string): string;
  /** Replaces the text in all texts of a JSON value. Returns the same value if there is none. */
  json(value: unknown): unknown;
}

/** More rows than MAX_FOUND_ROWS contain the text. */
export class TooManyTextsError extends Error {
  override readonly name = 'TooManyTextsError';
  constructor() {
    super(`more than ${MAX_FOUND_ROWS} rows contain the value: it is too common to be a secret`);
  }
}

const OF_JOBS: ReadonlySet<TableName> = new Set(['jobs', 'job_version', 'job_submission', 'allocs']);

/**
 * Finds a text in PostgreSQL, and replaces it in the history: the records of transactions, the undo of their changes,
 * and jobs that only the history references. Rows of the state change by a transaction (ST-185), never here. Stateless;
 * repeating it does no harm. Cost: reads every row as a text.
 */
export class HistoryRedaction {
  constructor(private readonly pool: Pool) {}

  /** Reads in one snapshot. @throws TooManyTextsError */
  find({ needles }: Pick<TextReplacement, 'needles'>): Promise<FoundTexts> {
    return inTransaction(this.pool, 'snapshot', async (client) => {
      await allowLongStatements(client);
      const bodies = async <Row>(sql: string): Promise<Row[]> => {
        const text = `${sql} limit ${MAX_FOUND_ROWS + 1}`;
        const { rows } = await client.query<{ body: Row }>({ text, values: [needles], types: columnTypes });
        if (rows.length > MAX_FOUND_ROWS) throw new TooManyTextsError();
        return rows.map(({ body }) => body);
      };
      return {
        jobs: await bodies<Job>(`select body from jobs where ${contains('body')}`),
        versions: await bodies<Job>(`select body from job_version where ${contains('body')}`),
        submissions: await bodies<JobSubmission>(`select body from job_submission where ${contains('body')}`),
        allocs: await bodies<Allocation>(`select body from allocs where ${contains('body')}`),
        allocJobs: await bodies<Job>(`select body from alloc_job j where ${contains('body')} and ${HAS_ALLOC}`),
        running: await runningOf(client, needles),
        others: await othersOf(client, needles),
      };
    });
  }

  /** Counts the rows of the history that contain the text. */
  count({ needles }: Pick<TextReplacement, 'needles'>): Promise<number> {
    return inTransaction(this.pool, 'snapshot', async (client) => {
      await allowLongStatements(client);
      const { rows } = await client.query<{ count: number }>({
        text: `select (select count(*) from alloc_job j where ${contains('body')} and not ${HAS_ALLOC})
        + (select count(*) from txn_object where ${contains('undo')} or ${contains('change')})
        + (select count(*) from txn where ${TXN_CONTAINS})
        + (select count(*) from set_aside where ${OF_HISTORY} and ${contains('body')}) as count`,
        values: [needles],
        types: columnTypes,
      });
      return rows[0]?.count ?? 0;
    });
  }

  /**
   * Replaces the text in the history. Returns the number of rows. Each step is a short database transaction, and a crash
   * leaves the rest for the next call.
   */
  async blank(replacement: TextReplacement): Promise<number> {
    const { rows } = await this.pool.query<{ first: number | null; last: number | null }>({
      text: 'select min(index) as first, max(index) as last from txn',
      types: columnTypes,
    });
    const { first, last } = rows[0] ?? {};
    let blanked = await inTransaction(this.pool, 'write', (client) => blankJobs(client, replacement));
    for (let from = first ?? 1; from <= (last ?? 0); from += MAX_EXAMINED_TXNS) {
      const to = from + MAX_EXAMINED_TXNS;
      blanked += await inTransaction(this.pool, 'write', (client) => blankRecords(client, replacement, from, to));
    }
    return blanked;
  }
}

const allowLongStatements = (client: PoolClient): Promise<unknown> =>
  client.query(`set local statement_timeout = ${WHOLE_TABLE_TIMEOUT_MS}`);

/** A condition: the column contains one of the needles in parameter 1. */
const contains = (column: string): string =>
  `exists (select from unnest($1::text[]) needle where position(needle in ${column}) > 0)`;
const TXN_CONTAINS = `(${contains('reason')} or ${contains('error')} or ${contains('result::text')})`;
const OF_HISTORY = `part in ('txn', 'txn_object')`;
const HAS_ALLOC =
  'exists (select from allocs a where a.namespace = j.namespace and a.job_id = j.job_id and a.job_key = j.key)';

async function runningOf(client: PoolClient, needles: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>({
    text: `select a.id from allocs a join alloc_job j
        on a.namespace = j.namespace and a.job_id = j.job_id and a.job_key = j.key
      where a.client_status not in ('complete', 'failed', 'lost') and (${contains('j.body')} or ${contains('a.body')})
      order by a.id limit ${MAX_NAMED_ROWS}`,
    values: [needles],
  });
  return rows.map(({ id }) => id);
}

async function othersOf(client: PoolClient, needles: readonly string[]): Promise<readonly OtherRow[]> {
  const others: (readonly OtherRow[])[] = [];
  for (const table of TABLE_NAMES) {
    if (OF_JOBS.has(table)) continue;
    const key = TABLE_LAYOUTS[table].primaryKey.map((name) => `"${name}"::text`).join(` || '/' || `);
    const sql = `select ${key} as key from "${table}" where ${contains('body')}`;
    others.push(await named(client, needles, table, sql));
  }
  const aside = `select object as key from set_aside where not ${OF_HISTORY} and ${contains('body')}`;
  others.push(await named(client, needles, 'set_aside', aside));
  return others.flat().slice(0, MAX_NAMED_ROWS);
}

async function named(
  client: PoolClient,
  needles: readonly string[],
  table: OtherRow['table'],
  sql: string,
): Promise<OtherRow[]> {
  const { rows } = await client.query<{ key: string }>(`${sql} order by 1 limit ${MAX_NAMED_ROWS}`, [needles]);
  return rows.map(({ key }) => ({ table, key }));
}

/** Jobs that allocations still have are part of the state, and stay. */
async function blankJobs(client: PoolClient, replacement: TextReplacement): Promise<number> {
  await allowLongStatements(client);
  const { rows } = await client.query<{ namespace: string; job_id: string; key: string; body: unknown }>({
    text: `select j.* from alloc_job j where ${contains('body')} and not ${HAS_ALLOC} for update`,
    values: [replacement.needles],
    types: columnTypes,
  });
  for (const { namespace, job_id, key, body } of rows)
    await client.query('update alloc_job set body = $4 where namespace = $1 and job_id = $2 and key = $3', [
      namespace,
      job_id,
      key,
      storedJson(replacement.json(body)),
    ]);
  return rows.length;
}

interface RecordRow {
  readonly index: number;
  readonly reason: string;
  readonly error: string | null;
  readonly result: unknown;
}

interface ChangeRow {
  readonly kind: string;
  readonly id: string;
  readonly index: number;
  readonly namespace: string;
  readonly change: string;
  readonly undo: unknown;
}

/** Blanks the records of the transactions from `from` up to and without `to`. */
async function blankRecords(
  client: PoolClient,
  replacement: TextReplacement,
  from: number,
  to: number,
): Promise<number> {
  const matching = async <Row extends object>(sql: string): Promise<Row[]> =>
    (await client.query<Row>({ text: sql, values: [replacement.needles, from, to], types: columnTypes })).rows;
  const inRange = 'index >= $2 and index < $3';
  const jsonOrNull = (value: unknown): string | null => (value === null ? null : storedJson(replacement.json(value)));

  const changes = await matching<ChangeRow>(`select kind, id, index, namespace, change, undo from txn_object
    where ${inRange} and (${contains('undo')} or ${contains('change')}) for update`);
  for (const { kind, id, index, namespace, change, undo } of changes)
    await client.query(
      'update txn_object set change = $5, undo = $6 where kind = $1 and id = $2 and index = $3 and namespace = $4',
      [kind, id, index, namespace, replacement.text(change), jsonOrNull(undo)],
    );

  const records = await matching<RecordRow>(
    `select index, reason, error, result from txn where ${inRange} and ${TXN_CONTAINS} for update`,
  );
  for (const { index, reason, error, result } of records)
    await client.query('update txn set reason = $2, error = $3, result = $4 where index = $1', [
      index,
      replacement.text(reason),
      error === null ? null : replacement.text(error),
      jsonOrNull(result),
    ]);

  const aside = await matching<{ part: string; key_hash: string; body: unknown }>(
    `select part, key_hash, body from set_aside where ${inRange} and ${OF_HISTORY} and ${contains('body')} for update`,
  );
  for (const { part, key_hash, body } of aside)
    await client.query('update set_aside set body = $3 where part = $1 and key_hash = $2', [
      part,
      key_hash,
      storedJson(replacement.json(body)),
    ]);
  return changes.length + records.length + aside.length;
}
