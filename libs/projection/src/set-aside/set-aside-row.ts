import { createHash } from 'node:crypto';
import type { Allocation } from '@waybill/model';
import { type ObjectChange, TABLE_NAMES, type TableName } from '@waybill/state';
import { type AllocJob, allocJobKey } from '../reading/alloc-jobs.js';
import type { TxnObject, TxnRecord } from '../writing/batch.js';
import { type ColumnValue, TABLE_LAYOUTS, type TableLayout } from '../writing/table-layout.js';

/** The table to which a row belongs: one of the state, or one of the additional ones. */
export type SetAsidePart = TableName | 'alloc_job' | 'txn' | 'txn_object';

/** Most characters of an object's name and an error's text, as shown to people. */
export const MAX_SHOWN_CHARS = 200;

/** A row for the table `set_aside`. */
export interface SetAsideRow {
  readonly part: SetAsidePart;
  readonly keyHash: string;
  /** Index of the transaction that wrote the row. */
  readonly index: number;
  readonly txnName: string;
  readonly timeNs: number;
  /** Its key, shortened for people. */
  readonly object: string;
  /** Empty if our own encoding refused the row. */
  readonly sqlstate: string;
  readonly error: string;
  /** For an allocation or its change: key of the stored job, so that the job is kept. */
  readonly jobKey: string;
  /** Whether the row was deleted and PostgreSQL refused the deletion. Then `body` is the former row. */
  readonly gone: boolean;
  readonly body: object;
}

/** The stored content of each part: enough for a newer version to store it, and to load the state from it. */
export interface SetAsideBodies {
  readonly alloc_job: AllocJob;
  readonly txn: TxnRecord;
  readonly txn_object: Omit<TxnObject, 'object'> & { readonly object: Omit<ObjectChange, 'change'> };
}

/** Returns the hash by which a row is found, because names can be too long for an index of PostgreSQL. */
export const keyHash = (key: readonly (ColumnValue | null)[]): string =>
  createHash('sha256').update(JSON.stringify(key)).digest('base64url');

/** Returns the values of the primary key as in the columns. */
export function keyOfRow(table: TableName, row: object): ColumnValue[] {
  const { columns, primaryKey } = TABLE_LAYOUTS[table] as TableLayout<object>;
  return primaryKey.map((name) => columns.find((column) => column.name === name)?.valueOf(row) ?? '');
}

export const keyOfAllocJob = ({ namespace, jobId, key }: AllocJob): string[] => [namespace, jobId, key];

/** The members of `SetAsideRow` that do not depend on the refusal. */
export type RowIdentity = Pick<SetAsideRow, 'part' | 'keyHash' | 'object' | 'jobKey' | 'gone' | 'body'>;

function identity(
  part: SetAsidePart,
  key: readonly ColumnValue[],
  body: object,
  more: Partial<Pick<SetAsideRow, 'jobKey' | 'gone'>> = {},
): RowIdentity {
  const object = key.map(String).join('/').slice(0, MAX_SHOWN_CHARS);
  return { part, keyHash: keyHash(key), object, jobKey: '', gone: false, ...more, body };
}

export function identityOfRow(table: TableName, row: object, gone: boolean): RowIdentity {
  const jobKey = table === 'allocs' ? allocJobKey(row as Allocation) : '';
  const { bodyOf } = TABLE_LAYOUTS[table] as TableLayout<object>;
  return identity(table, keyOfRow(table, row), bodyOf ? bodyOf(row) : row, { jobKey, gone });
}

export const identityOfAllocJob = (job: AllocJob): RowIdentity => identity('alloc_job', keyOfAllocJob(job), job);

export function identityOfTxn({ txn, verdict }: TxnRecord): RowIdentity {
  const { payload: _, ...recorded } = { payload: undefined, ...txn };
  const body: SetAsideBodies['txn'] = { txn: recorded, verdict };
  return identity('txn', [txn.index], body);
}

export function identityOfTxnObject({ index, object, jobKey }: TxnObject): RowIdentity {
  const { kind, namespace, id, op, text, undo } = object;
  const body: SetAsideBodies['txn_object'] = { index, object: { kind, namespace, id, op, text, undo }, jobKey };
  return identity('txn_object', [index, kind, namespace, id], body, { jobKey });
}

const tableNames: ReadonlySet<string> = new Set(TABLE_NAMES);

export const isTableName = (part: string): part is TableName => tableNames.has(part);
