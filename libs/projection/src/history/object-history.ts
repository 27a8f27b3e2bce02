import type { Job } from '@waybill/model';
import { HISTORY_TABLES, type ObjectName, SINGLETON_KEY, type TableName, type Undo, undone } from '@waybill/state';
import type { PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { plainText, storedText } from '../writing/stored-text.js';
import { findSetAside } from '../set-aside/find-set-aside.js';
import { bodiesOf, setAsideJobs } from '../set-aside/load-set-aside.js';
import { TABLE_LAYOUTS } from '../writing/table-layout.js';

/** Most objects whose history is walked in one request. */
export const MAX_WALKED_OBJECTS = 1_000;

/** One change of one object, with the object before and after it. */
export interface WalkedChange {
  readonly index: number;
  readonly before: object | undefined;
  readonly after: object | undefined;
}

interface UndoRow {
  readonly kind: ObjectName['kind'];
  readonly namespace: string;
  readonly id: string;
  readonly index: number;
  readonly op: 'create' | 'update' | 'delete';
  readonly undo: Undo | null;
  readonly job_key: string;
}

export const objectKey = ({ kind, namespace, id }: ObjectName): string => JSON.stringify([kind, namespace, id]);

/**
 * Walks the changes of objects above an index, newest first. The history stores how to undo each change, so the walk
 * starts at the present row and goes back. Returns every object, including those without a change. Must be called in a
 * snapshot. Cost: the rows of the objects, and their changes above `after`.
 */
export async function walkBack(
  client: PoolClient,
  objects: readonly ObjectName[],
  after: number,
): Promise<Map<string, { readonly row: object | undefined; readonly changes: readonly WalkedChange[] }>> {
  const undoRows = await undoRowsOf(client, objects, after);
  const jobs = await jobsByKey(
    client,
    [...new Set(undoRows.map((row) => row.job_key))].filter((key) => key !== ''),
  );
  const walks = new Map<string, { row: object | undefined; changes: WalkedChange[] }>();
  for (const name of objects) walks.set(objectKey(name), { row: await currentRow(client, name), changes: [] });
  for (const step of undoRows) {
    const walk = walks.get(objectKey(step));
    if (!walk) continue;
    const before = rowBefore(walk.row, step, jobs);
    walk.changes.push({ index: step.index, before, after: walk.row });
    walk.row = before;
  }
  return walks;
}

function rowBefore(after: object | undefined, step: UndoRow, jobs: ReadonlyMap<string, Job>): object | undefined {
  if (step.op === 'create') return undefined;
  const before = undone(after, step.undo ?? { set: {} });
  if (step.kind !== 'alloc') return before;
  if (step.job_key !== '') return { ...before, Job: jobs.get(step.job_key) ?? null };
  return after === undefined ? { ...before, Job: null } : before;
}

async function undoRowsOf(client: PoolClient, objects: readonly ObjectName[], after: number): Promise<UndoRow[]> {
  const { rows } = await client.query<UndoRow>({
    name: 'walk_back',
    text: `select o.kind, o.namespace, o.id, o.index, o.op, o.undo, o.job_key
      from unnest($1::text[], $2::text[], $3::text[]) as x(kind, namespace, id)
      join txn_object o on o.kind = x.kind and o.id = x.id and o.namespace = x.namespace
      where o.index > $4 and o.op <> 'none' order by o.index desc`,
    values: [
      objects.map(({ kind }) => kind),
      objects.map(({ namespace }) => storedText(namespace)),
      objects.map(({ id }) => storedText(id)),
      after,
    ],
    types: columnTypes,
  });
  const aside = await undoRowsAside(client, new Set(objects.map(objectKey)), after);
  const named = rows.map((row) => ({ ...row, ...plainName(row) }));
  return aside.length === 0 ? named : [...named, ...aside].toSorted((a, b) => b.index - a.index);
}

/** Returns the undo data of changes whose record PostgreSQL refused to store. */
async function undoRowsAside(client: PoolClient, keys: ReadonlySet<string>, after: number): Promise<UndoRow[]> {
  const kept = await bodiesOf(client, 'txn_object');
  return kept.flatMap(({ index, object, jobKey }) => {
    const { kind, namespace, id, op, undo } = object;
    if (index <= after || op === 'none' || !keys.has(objectKey(object))) return [];
    return [{ kind, namespace, id, index, op, undo, job_key: jobKey }];
  });
}

const plainName = ({ namespace, id }: UndoRow): { namespace: string; id: string } => ({
  namespace: plainText(namespace),
  id: plainText(id),
});

/** Returns the column with the object's own ID. Its namespace is in another column. */
export const idColumnOf = (kind: ObjectName['kind']): string =>
  TABLE_LAYOUTS[HISTORY_TABLES[kind]].primaryKey.at(-1) ?? 'id';

async function currentRow(client: PoolClient, { kind, namespace, id }: ObjectName): Promise<object | undefined> {
  const table = HISTORY_TABLES[kind];
  const byNamespace = TABLE_LAYOUTS[table].primaryKey.includes('namespace');
  const column = idColumnOf(kind);
  const { rows } = await client.query<{ body: object; job: Job | null }>({
    name: `history_row_${table}`,
    text:
      kind === 'alloc'
        ? `select a.body, j.body as job from allocs a left join alloc_job j
             on j.namespace = a.namespace and j.job_id = a.job_id and j.key = a.job_key where a.id = $1`
        : `select body, null as job from "${table}" where "${column}" = $1 ${byNamespace ? 'and namespace = $2' : ''}`,
    values: [
      storedText(kind === 'scheduler-config' ? SINGLETON_KEY : id),
      ...(byNamespace ? [storedText(namespace)] : []),
    ],
    types: columnTypes,
  });
  const found =
    rows[0] ??
    (await rowAside(
      client,
      table,
      kind === 'scheduler-config' ? SINGLETON_KEY : id,
      byNamespace ? namespace : undefined,
    ));
  if (!found) return undefined;
  return kind === 'alloc' ? { ...found.body, Job: found.job } : found.body;
}

/** Returns the row if PostgreSQL refused to store it in its table. */
async function rowAside(
  client: PoolClient,
  table: TableName,
  id: string,
  namespace: string | undefined,
): Promise<{ body: object; job: Job | null } | undefined> {
  const key = [...(namespace === undefined ? [] : [storedText(namespace)]), storedText(id)];
  const aside = await findSetAside(client, table, key);
  if (!aside) return undefined;
  const { body, jobKey } = aside;
  if (jobKey === '') return { body, job: null };
  const job = (await jobsByKey(client, [jobKey])).get(jobKey) ?? (await setAsideJobs(client)).get(jobKey);
  return { body, job: job ?? null };
}

async function jobsByKey(client: PoolClient, keys: readonly string[]): Promise<Map<string, Job>> {
  if (keys.length === 0) return new Map();
  const { rows } = await client.query<{ key: string; body: Job }>({
    text: 'select key, body from alloc_job where key = any($1)',
    values: [keys],
    types: columnTypes,
  });
  return new Map(rows.map(({ key, body }) => [key, body]));
}
