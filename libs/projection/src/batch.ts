import {
  type Applied,
  type Change,
  type ObjectChange,
  objectChanges,
  TABLE_NAMES,
  type TableName,
  type Txn,
  type Verdict,
} from '@waybill/state';
import { type AllocJob, AllocJobChanges, jobKeyBefore } from './alloc-jobs.js';

/** What a batch comes to for one table: every key once, with its last content. */
export interface TableBatch {
  readonly table: TableName;
  /** Rows of the state as they are. */
  readonly upserts: readonly object[];
  /** Rows of the state as they were. */
  readonly removes: readonly object[];
}

/** A transaction as it is recorded. */
export interface TxnRecord {
  readonly txn: Txn;
  readonly verdict: Verdict;
}

/** An object that a transaction is about, as it is recorded. */
export interface TxnObject {
  readonly index: number;
  readonly object: ObjectChange;
  /** Of an allocation whose job is another one now, or that is gone: under which key its job is stored. */
  readonly jobKey: string;
}

/** Any number of consecutive transactions, folded for one database transaction. */
export interface Batch {
  /** The index the projection must be at. */
  readonly from: number;
  readonly to: number;
  /** Jobs that allocations of the batch may be the first to hold. */
  readonly allocJobs: readonly AllocJob[];
  readonly tables: readonly TableBatch[];
  readonly tableIndexes: readonly { readonly name: TableName; readonly index: number }[];
  readonly txns: readonly TxnRecord[];
  readonly objects: readonly TxnObject[];
}

/**
 * Folds transactions into a batch. O(changes).
 * @throws RangeError when they are not consecutive or none: writing them would leave a hole (ST-7)
 */
export function foldBatch(applied: readonly Applied[]): Batch {
  const first = applied[0];
  const last = applied.at(-1);
  if (!first || !last) throw new RangeError('a batch needs at least one transaction');
  const latest = new Map<TableName, Map<string, Change>>();
  const tableIndexes = new Map<TableName, number>();
  const allocJobs = new AllocJobChanges();
  const objects: TxnObject[] = [];
  applied.forEach((one, position) => {
    if (one.index !== first.index + position)
      throw new RangeError(`transaction ${one.index} in a batch where ${first.index + position} is next`);
    for (const change of one.changes) {
      let rows = latest.get(change.table);
      if (!rows) latest.set(change.table, (rows = new Map()));
      rows.set(change.key, change);
      allocJobs.add(change);
      tableIndexes.set(change.table, one.index);
    }
    for (const object of objectChanges(one))
      objects.push({ index: one.index, object, jobKey: object.change ? jobKeyBefore(object.change) : '' });
  });
  return {
    from: first.index - 1,
    to: last.index,
    allocJobs: allocJobs.stored,
    tables: TABLE_NAMES.flatMap((table) => {
      const changes = latest.get(table);
      return changes ? [tableBatch(table, changes.values())] : [];
    }),
    tableIndexes: [...tableIndexes].map(([name, index]) => ({ name, index })),
    txns: applied,
    objects,
  };
}

function tableBatch(table: TableName, changes: Iterable<Change>): TableBatch {
  const upserts: object[] = [];
  const removes: object[] = [];
  for (const { after, before } of changes)
    if (after) upserts.push(after);
    else if (before) removes.push(before);
  return { table, upserts, removes };
}
