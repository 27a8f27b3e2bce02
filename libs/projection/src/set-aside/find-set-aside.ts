import type { Pool, PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { SetAsideError } from '../errors.js';
import type { ColumnValue } from '../writing/table-layout.js';
import { plainText } from '../writing/stored-text.js';
import { keyHash, type SetAsidePart } from './set-aside-row.js';

interface FoundColumns {
  readonly index: number;
  readonly txn_name: string;
  readonly object: string;
  readonly sqlstate: string;
  readonly error: string;
  readonly job_key: string;
  readonly body: object;
}

/** A row that was set aside, and the text for callers who cannot get it. */
export interface FoundAside {
  readonly body: object;
  /** Key of an allocation's job. */
  readonly jobKey: string;
  readonly error: SetAsideError;
}

/**
 * Finds a missing row among those that were set aside. Called only if its table does not have it.
 * @param key values of the primary key as columns
 */
export async function findSetAside(
  on: Pool | PoolClient,
  part: SetAsidePart,
  key: readonly ColumnValue[],
): Promise<FoundAside | undefined> {
  const { rows } = await on.query<FoundColumns>({
    name: 'find_set_aside',
    text: `select index, txn_name, object, sqlstate, error, job_key, body from set_aside
      where part = $1 and key_hash = $2 and not gone`,
    values: [part, keyHash(key)],
    types: columnTypes,
  });
  const [row] = rows;
  if (!row) return undefined;
  const reason = plainText(row.error) + (row.sqlstate === '' ? '' : `, SQLSTATE ${row.sqlstate}`);
  const error = new SetAsideError({
    part,
    object: plainText(row.object),
    index: row.index,
    txnName: row.txn_name,
    reason,
  });
  return { body: row.body, jobKey: row.job_key, error };
}

/**
 * Returns those of these rows that were set aside, for decisions that need them all the same. Called only for rows that
 * their table does not have.
 * @param keys values of the primary keys as columns
 */
export async function setAsideBodies<Row>(
  on: Pool | PoolClient,
  part: SetAsidePart,
  keys: readonly (readonly ColumnValue[])[],
): Promise<Row[]> {
  if (keys.length === 0) return [];
  const { rows } = await on.query<{ body: Row }>({
    name: 'set_aside_bodies',
    text: 'select body from set_aside where part = $1 and key_hash = any($2) and not gone',
    values: [part, keys.map(keyHash)],
    types: columnTypes,
  });
  return rows.map(({ body }) => body);
}

/** Returns all rows of a part that were set aside. They are few. */
export async function allSetAside<Row>(on: Pool | PoolClient, part: SetAsidePart): Promise<Row[]> {
  const { rows } = await on.query<{ body: Row }>({
    name: 'all_set_aside',
    text: 'select body from set_aside where part = $1 and not gone',
    values: [part],
    types: columnTypes,
  });
  return rows.map(({ body }) => body);
}
