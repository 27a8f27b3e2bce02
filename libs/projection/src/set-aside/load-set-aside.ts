import type { Allocation, Job } from '@waybill/model';
import { type SeenRequest, type StateMachine, type Table, type TableName, isRejected } from '@waybill/state';
import type { PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { AllocJobsRead } from '../reading/alloc-jobs.js';
import { isTableName, type SetAsideBodies, type SetAsidePart } from './set-aside-row.js';

/*
 * Rows that were set aside belong to the state. A copy of the state that is loaded from PostgreSQL must have them, or
 * it would differ from other copies (ST-3). Cost: the number of rows that are set aside.
 */

interface LoadedRow {
  readonly part: SetAsidePart;
  readonly job_key: string;
  readonly gone: boolean;
  readonly body: object;
}

/** Replaces rows of the tables, which may be older, by those that were set aside. */
export async function loadSetAside(
  client: PoolClient,
  machine: StateMachine,
  tables: readonly TableName[],
): Promise<void> {
  const { rows } = await client.query<LoadedRow>({
    text: 'select part, job_key, gone, body from set_aside where part = any($1)',
    values: [tables],
    types: columnTypes,
  });
  const jobs = rows.some(({ part }) => part === 'allocs') ? await jobsByKey(client, rows) : new Map<string, Job>();
  const read = new AllocJobsRead();
  for (const { part, gone, job_key: key, body } of rows) {
    if (!isTableName(part)) continue;
    const table = machine.tables[part] as Table<object>;
    const row = part === 'allocs' ? read.complete(body as Allocation, key, () => jobs.get(key) ?? null) : body;
    table.replace(table.keyOf(row), gone ? undefined : row);
  }
}

async function jobsByKey(client: PoolClient, rows: readonly LoadedRow[]): Promise<Map<string, Job>> {
  const jobs = await setAsideJobs(client);
  const { rows: stored } = await client.query<{ key: string; body: Job }>({
    text: 'select key, body from alloc_job where key = any($1)',
    values: [rows.map(({ job_key: key }) => key)],
    types: columnTypes,
  });
  for (const { key, body } of stored) jobs.set(key, body);
  return jobs;
}

/** Returns the jobs of allocations that were set aside, by key. */
export async function setAsideJobs(client: PoolClient): Promise<Map<string, Job>> {
  const jobs = await bodiesOf(client, 'alloc_job');
  return new Map(jobs.map(({ key, job }) => [key, job]));
}

/** Returns the request IDs of transactions whose record was set aside, oldest first. */
export async function setAsideRequests(client: PoolClient): Promise<SeenRequest[]> {
  const records = await bodiesOf(client, 'txn');
  return records.map(({ txn: { requestId, index, timeNs }, verdict }) => ({
    requestId,
    index,
    timeNs,
    rejected: isRejected(verdict) ? verdict : null,
  }));
}

/** Returns the bodies of one part by index. A part contains only bodies of its own kind. */
export async function bodiesOf<P extends keyof SetAsideBodies>(
  client: Pick<PoolClient, 'query'>,
  part: P,
): Promise<SetAsideBodies[P][]> {
  const { rows } = await client.query<{ body: SetAsideBodies[P] }>({
    text: 'select body from set_aside where part = $1 order by index',
    values: [part],
    types: columnTypes,
  });
  return rows.map(({ body }) => body);
}
