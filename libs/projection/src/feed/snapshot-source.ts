import { rejectionOf, type VerdictColumns } from '../reading/recorded-verdict.js';
import { REQUEST_WINDOW_NS, type StateMachine, TABLE_NAMES, type TableName, type TableRows } from '@waybill/state';
import type { Allocation, Job } from '@waybill/model';
import type { Pool, PoolClient } from 'pg';
import { AllocJobsRead } from '../reading/alloc-jobs.js';
import { columnTypes } from '../database/column-types.js';
import { databaseErrorCode, NotMigratedError } from '../errors.js';
import { SharedMembers } from '../writing/shared-members.js';
import { READ_APPLIED } from '../writing/statements.js';
import { plainText } from '../writing/stored-text.js';
import { TABLE_LAYOUTS } from '../writing/table-layout.js';
import { inTransaction } from '../database/transaction.js';
import { loadSetAside, setAsideJobs, setAsideRequests } from '../set-aside/load-set-aside.js';

/** Rows per page, which bounds the memory of a start in addition to the state itself. */
export const SNAPSHOT_PAGE_ROWS = 2_000;

const UNDEFINED_TABLE = '42P01';

/**
 * Loads the state at PostgreSQL's applied index into an empty state machine: every table, the tables' indexes and the
 * window of request IDs, in one repeatable-read snapshot (ST-141). Returns the index; the log is followed from the next
 * one. Cost: all rows of the cluster, in pages.
 * @param tables the tables that the machine needs; the others stay empty
 * @throws NotMigratedError if the tables do not exist yet
 */
export async function loadSnapshot(
  pool: Pool,
  machine: StateMachine,
  tables: readonly TableName[] = TABLE_NAMES,
): Promise<number> {
  try {
    const index = await inTransaction(pool, 'snapshot', async (client) => {
      for (const table of tables)
        await (table === 'allocs' ? loadAllocs(client, machine) : loadTable(client, machine, table));
      await loadSetAside(client, machine, tables);
      await loadTableIndexes(client, machine);
      await loadRequestWindow(client, machine);
      return await appliedIndex(client);
    });
    machine.startAt(index);
    return index;
  } catch (error) {
    if (databaseErrorCode(error) === UNDEFINED_TABLE) throw new NotMigratedError({ cause: error });
    throw error;
  }
}

/** Provides snapshots for a replica. Without tables, the replica starts from the log's beginning. */
export class PostgresSnapshots {
  /** @param tables as for `loadSnapshot` */
  constructor(
    private readonly pool: Pool,
    private readonly tables?: readonly TableName[],
  ) {}

  async load(machine: StateMachine): Promise<number> {
    try {
      return await loadSnapshot(this.pool, machine, this.tables);
    } catch (error) {
      if (error instanceof NotMigratedError) return 0;
      throw error;
    }
  }
}

async function appliedIndex(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
  return rows[0]?.applied ?? 0;
}

const inOrder = (table: TableName): string =>
  TABLE_LAYOUTS[table].insertionOrder.map((column) => `"${column}"`).join(', ');

async function loadTable<N extends TableName>(client: PoolClient, machine: StateMachine, name: N): Promise<void> {
  const table = machine.tables[name];
  await pages<{ body: TableRows[N] }>(client, `select body from "${name}" order by ${inOrder(name)}`, ({ body }) =>
    table.replace(table.keyOf(body), body),
  );
}

/** Loads allocations, which share their job and their common members, like those from the log. */
async function loadAllocs(client: PoolClient, machine: StateMachine): Promise<void> {
  const { allocs } = machine.tables;
  const jobs = await setAsideJobs(client);
  await pages<{ key: string; body: Job }>(client, 'select key, body from alloc_job', ({ key, body }) =>
    jobs.set(key, body),
  );
  const read = new AllocJobsRead();
  const sharing = new SharedMembers<Allocation>([['NodeID', 'NodeName'], ['EvalID'], ['DeploymentID']]);
  await pages<{ body: Allocation; job_key: string }>(
    client,
    `select body, job_key from allocs order by ${inOrder('allocs')}`,
    ({ body, job_key: key }) =>
      allocs.replace(
        body.ID,
        read.complete(sharing.share(body), key, () => jobs.get(key) ?? null),
      ),
  );
}

async function loadTableIndexes(client: PoolClient, machine: StateMachine): Promise<void> {
  const { rows } = await client.query<{ name: string; index: number }>({
    text: 'select name, index from table_index',
    types: columnTypes,
  });
  const indexes = new Map(rows.map((row) => [row.name, row.index]));
  for (const name of TABLE_NAMES) machine.tables[name].tableIndex = indexes.get(name) ?? 0;
}

interface WindowRow extends VerdictColumns {
  readonly request_id: string;
  readonly index: number;
  readonly time_ns: number;
}

/**
 * Selects the window of request IDs as `remember` would leave it after all transactions in order. It drops entries from
 * the front that are older than the newest time minus the window, and stops at the first newer one. So the window
 * starts at the lowest index whose time is inside the window, and includes all later ones even if their clock was
 * behind.
 */
const REQUEST_WINDOW_SQL = `
  select request_id, index, time_ns, verdict, refusal_code, error, result
  from txn
  where request_id <> '' and index >= (
    select min(index) from txn where request_id <> '' and time_ns >= (
      select max(time_ns) from txn where request_id <> '') - ${REQUEST_WINDOW_NS})
  order by index`;

async function loadRequestWindow(client: PoolClient, machine: StateMachine): Promise<void> {
  const aside = await setAsideRequests(client);
  await pages<WindowRow>(client, REQUEST_WINDOW_SQL, (row) => {
    for (; aside[0] && aside[0].index < row.index; aside.shift()) machine.requests.remember(aside[0]);
    machine.requests.remember({
      requestId: plainText(row.request_id),
      index: row.index,
      timeNs: row.time_ns,
      rejected: rejectionOf(row),
    });
  });
  for (const request of aside) machine.requests.remember(request);
}

/** Yields pages. The server computes the next page while the caller processes the present one. */
async function pages<Row extends object>(client: PoolClient, query: string, take: (row: Row) => void): Promise<void> {
  await client.query(`declare page no scroll cursor for ${query}`);
  const fetch = async (): Promise<Row[]> =>
    (await client.query<Row>({ text: `fetch ${SNAPSHOT_PAGE_ROWS} from page`, types: columnTypes })).rows;
  const takeAll = async (rows: readonly Row[]): Promise<void> => rows.forEach(take);
  let rows = await fetch();
  while (rows.length > 0) [rows] = await Promise.all([fetch(), takeAll(rows)]);
  await client.query('close page');
}
