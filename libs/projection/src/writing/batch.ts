import {
  type Applied,
  type ObjectChange,
  objectChanges,
  TABLE_NAMES,
  type TableName,
  type Txn,
  type Verdict,
} from '@waybill/state';
import { type AllocJob, AllocJobChanges, jobKeyBefore } from '../reading/alloc-jobs.js';

/** The changes of a batch in one table: every key once, with its last content. */
export interface TableBatch {
  readonly table: TableName;
  /** New rows, and rows that replace existing ones, as in the state. */
  readonly inserts: readonly object[];
  readonly updates: readonly object[];
  /** Removed rows, as they were before the batch. */
  readonly removes: readonly object[];
}

/** The net change of a row in a batch. */
interface NetChange {
  readonly before: object | undefined;
  after: object | undefined;
}

/** The record of a transaction. */
export interface TxnRecord {
  readonly txn: Omit<Txn, 'payload'>;
  readonly verdict: Verdict;
}

/** The record of a transaction's change to an object. */
export interface TxnObject {
  readonly index: number;
  readonly object: ObjectChange;
  /** Key of the previous job of an allocation that has another job now or was deleted. */
  readonly jobKey: string;
}

/** Any number of consecutive transactions, merged for one database transaction. */
export interface Batch {
  /** The index at which the projection must be. */
  readonly from: number;
  readonly to: number;
  /** Jobs that allocations of the batch may be the first to reference. */
  readonly allocJobs: readonly AllocJob[];
  readonly tables: readonly TableBatch[];
  readonly tableIndexes: readonly { readonly name: TableName; readonly index: number }[];
  readonly txns: readonly TxnRecord[];
  /** Index of the newest frame in EVENTS, of this batch or an earlier one. 0 if unknown. */
  readonly framed: number;
  /** Built one by one on request: most of the work of a batch, done while PostgreSQL is busy. */
  readonly objects: Iterable<TxnObject>;
}

/**
 * Returns the index of the first transaction.
 * @throws RangeError if they are not consecutive or there are none, because writing them would leave a gap (ST-7)
 */
export function assertConsecutive(applied: readonly Applied[]): number {
  const first = applied[0]?.index;
  if (first === undefined) throw new RangeError('a batch needs at least one transaction');
  applied.forEach(({ index }, position) => {
    if (index !== first + position)
      throw new RangeError(`transaction ${index} in a batch where ${first + position} is next`);
  });
  return first;
}

/** Merges consecutive transactions into a batch. O(changes). @throws RangeError like `assertConsecutive` */
export function foldBatch(applied: readonly Applied[], framed = 0): Batch {
  const first = assertConsecutive(applied);
  const changed = new Map<TableName, Map<string, NetChange>>();
  const tableIndexes = new Map<TableName, number>();
  const allocJobs = new AllocJobChanges();
  for (const one of applied) {
    if (one.movesEveryTableIndex) for (const table of TABLE_NAMES) tableIndexes.set(table, one.index);
    for (const change of one.changes) {
      let rows = changed.get(change.table);
      if (!rows) changed.set(change.table, (rows = new Map()));
      const row = rows.get(change.key);
      if (row) row.after = change.after;
      else rows.set(change.key, { before: change.before, after: change.after });
      allocJobs.add(change);
      tableIndexes.set(change.table, one.index);
    }
  }
  return {
    from: first - 1,
    to: first + applied.length - 1,
    allocJobs: allocJobs.stored,
    tables: TABLE_NAMES.flatMap((table) => {
      const rows = changed.get(table);
      return rows ? [tableBatch(table, rows.values())] : [];
    }),
    tableIndexes: [...tableIndexes].map(([name, index]) => ({ name, index })),
    txns: applied,
    framed,
    objects: objectsOf(applied),
  };
}

function* objectsOf(applied: readonly Applied[]): Generator<TxnObject> {
  for (const one of applied)
    for (const object of objectChanges(one))
      yield { index: one.index, object, jobKey: object.change ? jobKeyBefore(object.change) : '' };
}

function tableBatch(table: TableName, rows: Iterable<NetChange>): TableBatch {
  const inserts: object[] = [];
  const updates: object[] = [];
  const removes: object[] = [];
  for (const { after, before } of rows)
    if (after) (before ? updates : inserts).push(after);
    else if (before) removes.push(before);
  return { table, inserts, updates, removes };
}
