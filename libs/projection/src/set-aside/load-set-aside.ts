import type { Allocation, Job } from '@waybill/model';
import { type SeenRequest, type StateMachine, type Table, type TableName, isRejected } from '@waybill/state';
import type { PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { AllocJobsRead } from '../reading/alloc-jobs.js';
import { isTableName, type SetAsideBodies, type SetAsidePart } from './set-aside-row.js';

/*
 * What is set aside belongs to the state: a copy that is loaded from Postgres has it, or it would differ from those that
 * are not (ST-3). Cost of each: what is set aside.
 */

interface LoadedRow {
  readonly part: SetAsidePart;
  readonly job_key: string;
  readonly gone: boolean;
  readonly body: object;
}

/** Puts what is set aside in place of what the tables have, which can be older. */
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

/** Jobs that allocations hold and that are set aside, by their key. */
export async function setAsideJobs(client: PoolClient): Promise<Map<string, Job>> {
  const jobs = await bodiesOf(client, 'alloc_job');
  return new Map(jobs.map(({ key, job }) => [key, job]));
}

/** Of transactions whose record is set aside, oldest first. */
export async function setAsideRequests(client: PoolClient): Promise<SeenRequest[]> {
  const records = await bodiesOf(client, 'txn');
  return records.map(({ txn: { requestId, index, timeNs }, verdict }) => ({
    requestId,
    index,
    timeNs,
    rejected: isRejected(verdict) ? verdict : null,
  }));
}

/** Of one part, by index. What a part holds is what the same part put there. */
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
