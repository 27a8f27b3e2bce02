import {
  type Actor,
  HISTORY_TABLES,
  type ObjectChange,
  type ObjectKind,
  type ObjectName,
  type Verdict,
} from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { Conditions, type Namespaces } from '../reading/list-query.js';
import { idColumnOf, MAX_WALKED_OBJECTS, objectKey, walkBack } from './object-history.js';
import { plainText } from '../writing/stored-text.js';
import { inTransaction } from '../database/transaction.js';

/** Number of IDs that are listed when a prefix matches several objects (API-265). */
export const MAX_MATCHES = 20;

/** A query of the log (API-265). */
export interface LogQuery {
  readonly namespaces: Namespaces;
  readonly kind?: ObjectKind | undefined;
  /** A full ID. Only with `kind`. */
  readonly id?: string | undefined;
  /** Include transactions about the evaluations, allocations and deployments of the object (CL-1025). */
  readonly related?: boolean | undefined;
  /** First and last index, inclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Times in unix nanoseconds, inclusive. */
  readonly sinceNs?: number | undefined;
  readonly untilNs?: number | undefined;
  /** Names of transactions. Empty for all. */
  readonly types?: readonly string[] | undefined;
  /** Prefix of an accessor ID or of a name. */
  readonly actor?: string | undefined;
  readonly request?: string | undefined;
  /** 32 hex digits. */
  readonly trace?: string | undefined;
  /** Return the oldest first. */
  readonly reverse?: boolean | undefined;
  readonly perPage: number;
  /** Index of the first record. 0 for the beginning. */
  readonly nextIndex?: number | undefined;
  /** Include the object before and after each change, which costs a walk over its later history. */
  readonly withStates?: boolean | undefined;
}

export interface LoggedObject extends ObjectName {
  readonly op: Exclude<ObjectChange['op'], 'none'>;
  readonly change: string;
  /** With `withStates`: the rows of the state, including secrets. */
  readonly states?: { readonly before: object | undefined; readonly after: object | undefined } | undefined;
}

export interface LoggedTxn {
  readonly index: number;
  readonly timeNs: number;
  readonly type: number;
  readonly name: string;
  readonly region: string;
  readonly namespace: string;
  readonly actor: Actor;
  readonly requestId: string;
  readonly reason: string;
  readonly traceparent: string;
  /** Step times in the transaction's own text. Empty if there are none. */
  readonly stepTimes: string;
  readonly role: string;
  readonly epoch: number;
  readonly verdict: Verdict['kind'];
  readonly error: string;
  readonly objects: readonly LoggedObject[];
}

export interface LogPage {
  readonly txns: readonly LoggedTxn[];
  /** Index of the newest matching record on any page, at least 1. */
  readonly index: number;
  /** Index of the next page's first record. 0 on the last page. */
  readonly nextIndex: number;
  /** Lowest index with a history. */
  readonly floor: number;
}

/**
 * An object at an index. `reached` is false if the projection is not there yet, and `kept` is false if the history is
 * no longer retained.
 */
export interface StateAt {
  readonly reached: boolean;
  readonly floor: number;
  readonly kept: boolean;
  readonly row: object | undefined;
}

/** `withStates` would have to walk more than MAX_WALKED_OBJECTS objects. */
export class TooManyObjectsError extends Error {
  override readonly name = 'TooManyObjectsError';
  constructor(readonly objects: number) {
    super(`diff is for at most ${MAX_WALKED_OBJECTS} objects, these are ${objects}; ask for fewer records per page`);
  }
}

interface TxnRow {
  readonly index: number;
  readonly time_ns: number;
  readonly type: number;
  readonly name: string;
  readonly region: string;
  readonly namespace: string;
  readonly actor: Actor;
  readonly request_id: string;
  readonly reason: string;
  readonly traceparent: string;
  readonly step_times: string;
  readonly role: string;
  readonly epoch: number;
  readonly verdict: Verdict['kind'];
  readonly error: string | null;
}

interface ObjectRow extends ObjectName {
  readonly index: number;
  readonly op: LoggedObject['op'];
  readonly change: string;
}

/**
 * The history of the cluster: every retained transaction with its changes, and every object at any index (API-264 to
 * API-268). Stateless; every response is from one snapshot.
 *
 * Cost of a page: with an object, a trace or a range, its records. With other filters alone (actor, request, type), all
 * records between the matches, newest first. `related` also searches the deleted objects.
 */
export class TransactionLog {
  constructor(private readonly pool: Pool) {}

  /** @throws TooManyObjectsError */
  page(query: LogQuery): Promise<LogPage> {
    return inTransaction(this.pool, 'snapshot', async (client) => {
      const rows = await pageRows(client, query);
      const next = rows.length > query.perPage ? rows.pop() : undefined;
      const newest = query.reverse || query.nextIndex ? await newestIndex(client, query) : (rows[0]?.index ?? 0);
      const objects = await objectsOf(client, rows, query);
      const floor = (await bounds(client)).floor;
      const txns = rows.map((row) => loggedTxn(row, objects.get(row.index) ?? []));
      return { txns, index: Math.max(1, newest), nextIndex: next?.index ?? 0, floor };
    });
  }

  /** Returns the full IDs of objects with this prefix, including deleted ones, at most MAX_MATCHES + 1. */
  async matching(kind: ObjectKind, namespaces: Namespaces, prefix: string): Promise<readonly string[]> {
    const exact = new Conditions().equal('kind', kind).equal('id', prefix);
    const found = await this.ids(inNamespaces(exact, namespaces));
    if (found.length > 0) return found;
    return this.ids(inNamespaces(new Conditions().equal('kind', kind).startsWith('id', prefix), namespaces));
  }

  /** Returns an object after a transaction, from the first of these namespaces that has one with the ID. */
  stateAt(kind: ObjectKind, namespaces: Namespaces, id: string, index: number): Promise<StateAt> {
    return inTransaction(this.pool, 'snapshot', async (client) => {
      const { applied, floor } = await bounds(client);
      const [reached, kept] = [index <= applied, index >= floor];
      const namespace = reached && kept ? await namespaceOf(client, kind, namespaces, id) : undefined;
      if (namespace === undefined) return { reached, kept, floor, row: undefined };
      const name = { kind, namespace, id };
      const walk = (await walkBack(client, [name], index)).get(objectKey(name));
      return { reached, kept, floor, row: walk?.row };
    });
  }

  private async ids(conditions: Conditions): Promise<string[]> {
    const { rows } = await this.pool.query<{ id: string }>({
      text: `select distinct r.id from txn_object r ${conditions.sql} order by r.id limit ${MAX_MATCHES + 1}`,
      values: conditions.values,
    });
    return rows.map(({ id }) => plainText(id));
  }
}

/** Restricts objects to namespaces. Objects without a namespace belong to all of them. */
function inNamespaces(conditions: Conditions, namespaces: Namespaces): Conditions {
  return namespaces === '*' ? conditions : conditions.in([...namespaces, '']);
}

/** Returns the namespace of an existing or former object. One without a recent change is not in the history. */
async function namespaceOf(
  client: PoolClient,
  kind: ObjectKind,
  namespaces: Namespaces,
  id: string,
): Promise<string | undefined> {
  if (!NAMESPACED.has(kind)) return '';
  const conditions = inNamespaces(new Conditions().equal('id', id), namespaces);
  const of = conditions.value(kind);
  const { rows } = await client.query<{ namespace: string }>({
    text: `select r.namespace from txn_object r ${conditions.sql} and r.kind = ${of}
      union select r.namespace from (select namespace, "${idColumnOf(kind)}" as id from "${HISTORY_TABLES[kind]}") r
        ${conditions.sql} order by namespace limit 1`,
    values: conditions.values,
  });
  return rows[0] && plainText(rows[0].namespace);
}

const NAMESPACED: ReadonlySet<ObjectKind> = new Set([
  'job',
  'alloc',
  'eval',
  'deployment',
  'volume',
  'host-volume',
  'var',
]);

function conditionsOf(query: LogQuery): Conditions {
  const chosen = new Conditions();
  const { kind, from, to, sinceNs, untilNs, types, actor, request, trace } = query;
  if (kind === undefined) inNamespaces(chosen, query.namespaces);
  else chosen.where(`r.index in (${objectIndexes(chosen, query, kind)})`);
  if (from !== undefined) chosen.where(`r.index >= ${chosen.value(from)}`);
  if (to !== undefined) chosen.where(`r.index <= ${chosen.value(to)}`);
  if (sinceNs !== undefined) chosen.where(`r.time_ns >= ${chosen.value(sinceNs)}`);
  if (untilNs !== undefined) chosen.where(`r.time_ns <= ${chosen.value(untilNs)}`);
  if (types && types.length > 0) chosen.where(`r.name = any(${chosen.value(types)})`);
  if (actor !== undefined) {
    const prefix = chosen.value(actor);
    chosen.where(`(starts_with(r.actor ->> 'ID', ${prefix}) or starts_with(r.actor ->> 'Name', ${prefix}))`);
  }
  if (request !== undefined) chosen.equal('request_id', request);
  if (trace !== undefined) chosen.where(`r.traceparent <> ''`).startsWith('traceparent', `00-${trace}-`);
  return chosen;
}

/** Returns SQL for the indexes of the transactions about an object, or about all objects of a kind. */
function objectIndexes(chosen: Conditions, query: LogQuery, kind: ObjectKind): string {
  const { id, namespaces } = query;
  const objects: string[] = [`o.kind = ${chosen.value(kind)}`];
  if (id !== undefined) objects.push(`o.id = ${chosen.value(id)}`);
  const inside = namespaces === '*' ? 'true' : `o.namespace = any(${chosen.value([...namespaces, ''])})`;
  const own = `select o.index from txn_object o where ${objects.join(' and ')} and ${inside}`;
  if (id === undefined || !query.related) return own;
  return `${own} union select o.index from txn_object o join (${relatedObjects(chosen, kind, id)}) x
    on o.kind = x.kind and o.id = x.id where ${inside}`;
}

/** The member by which an object of each kind belongs to another object (CL-1025). */
const BELONGING: Partial<
  Record<ObjectKind, readonly (readonly [ObjectKind, string, column: string, member: string])[]>
> = {
  job: [
    ['eval', 'evals', 'job_id', 'JobID'],
    ['alloc', 'allocs', 'job_id', 'JobID'],
    ['deployment', 'deployment', 'job_id', 'JobID'],
  ],
  node: [['alloc', 'allocs', 'node_id', 'NodeID']],
  deployment: [
    ['alloc', 'allocs', 'deployment_id', 'DeploymentID'],
    ['eval', 'evals', 'deployment_id', 'DeploymentID'],
  ],
};

function relatedObjects(chosen: Conditions, kind: ObjectKind, id: string): string {
  const value = chosen.value(id);
  const selects = (BELONGING[kind] ?? []).flatMap(([of, table, column, member]) => [
    `select '${of}' as kind, t.id from "${table}" t where t."${column}" = ${value}`,
    `select d.kind, d.id from txn_object d
       where d.kind = '${of}' and d.op = 'delete' and d.undo::json #>> '{set,${member}}' = ${value}`,
  ]);
  return selects.length === 0 ? `select null::text as kind, null::text as id where false` : selects.join(' union ');
}

async function pageRows(client: PoolClient, query: LogQuery): Promise<TxnRow[]> {
  const conditions = conditionsOf(query);
  if (query.nextIndex) conditions.from(['index'], [query.nextIndex], query.reverse !== true);
  const { rows } = await client.query<TxnRow>({
    text: `select r.* from txn r ${conditions.sql}
      order by r.index ${query.reverse ? '' : 'desc'} limit ${Math.trunc(query.perPage) + 1}`,
    values: conditions.values,
    types: columnTypes,
  });
  return rows;
}

async function newestIndex(client: PoolClient, query: LogQuery): Promise<number> {
  const conditions = conditionsOf(query);
  const { rows } = await client.query<{ index: number }>({
    text: `select r.index from txn r ${conditions.sql} order by r.index desc limit 1`,
    values: conditions.values,
    types: columnTypes,
  });
  return rows[0]?.index ?? 0;
}

async function objectsOf(
  client: PoolClient,
  txns: readonly TxnRow[],
  query: LogQuery,
): Promise<ReadonlyMap<number, readonly LoggedObject[]>> {
  const conditions = new Conditions();
  conditions.where(`r.index = any(${conditions.value(txns.map(({ index }) => index))})`).where(`r.op <> 'none'`);
  if (query.kind !== undefined && !query.related) conditions.equal('kind', query.kind);
  if (query.id !== undefined && !query.related) conditions.equal('id', query.id);
  const { rows } = await client.query<ObjectRow>({
    text: `select r.index, r.kind, r.namespace, r.id, r.op, r.change
      from txn_object r ${inNamespaces(conditions, query.namespaces).sql} order by r.index, r.kind, r.namespace, r.id`,
    values: conditions.values,
    types: columnTypes,
  });
  const named = rows.map((row) => ({ ...row, namespace: plainText(row.namespace), id: plainText(row.id) }));
  const statesAt = query.withStates ? await statesOf(client, named) : () => undefined;
  const objects = new Map<number, LoggedObject[]>();
  for (const row of named) {
    const { index, kind, namespace, id, op, change } = row;
    const object = { kind, namespace, id, op, change: plainText(change), states: statesAt(row) };
    const others = objects.get(index);
    if (others) others.push(object);
    else objects.set(index, [object]);
  }
  return objects;
}

async function statesOf(
  client: PoolClient,
  rows: readonly ObjectRow[],
): Promise<(row: ObjectRow) => LoggedObject['states']> {
  const names = [...new Map(rows.map((row) => [objectKey(row), row])).values()];
  if (names.length > MAX_WALKED_OBJECTS) throw new TooManyObjectsError(names.length);
  const lowest = rows.reduce((least, { index }) => Math.min(least, index), Number.MAX_SAFE_INTEGER);
  const walks = await walkBack(client, names, lowest - 1);
  return (row) => walks.get(objectKey(row))?.changes.find(({ index }) => index === row.index);
}

async function bounds(client: PoolClient): Promise<{ applied: number; floor: number }> {
  const { rows } = await client.query<{ applied: number; floor: number }>({
    name: 'history_bounds',
    text: 'select applied, history_floor as floor from projection where id = 1',
    types: columnTypes,
  });
  return rows[0] ?? { applied: 0, floor: 1 };
}

function loggedTxn(row: TxnRow, objects: readonly LoggedObject[]): LoggedTxn {
  return {
    index: row.index,
    timeNs: row.time_ns,
    type: row.type,
    name: row.name,
    region: plainText(row.region),
    namespace: plainText(row.namespace),
    actor: row.actor,
    requestId: plainText(row.request_id),
    reason: plainText(row.reason),
    traceparent: plainText(row.traceparent),
    stepTimes: plainText(row.step_times),
    role: plainText(row.role),
    epoch: row.epoch,
    verdict: row.verdict,
    error: row.error === null ? '' : plainText(row.error),
    objects,
  };
}
