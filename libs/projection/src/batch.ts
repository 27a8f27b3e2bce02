import {
  type Applied,
  type Change,
  TABLE_NAMES,
  type TableName,
  type Txn,
  TXN_TYPES,
  type Verdict,
} from '@waybill/state';
import { primaryKeyOf } from './table-layout.js';

/** Columns by name. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** What a batch comes to for one table: every key once, with its last content. */
export interface TableBatch {
  readonly table: TableName;
  /** Rows of the state as they are. */
  readonly upserts: readonly object[];
  /** Primary keys. */
  readonly removes: readonly StoredRow[];
}

/** Any number of consecutive transactions, folded for one database transaction. */
export interface Batch {
  /** The index the projection must be at. */
  readonly from: number;
  readonly to: number;
  readonly tables: readonly TableBatch[];
  readonly tableIndexes: readonly { readonly name: TableName; readonly index: number }[];
  readonly txns: readonly StoredRow[];
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
  applied.forEach((one, position) => {
    if (one.index !== first.index + position)
      throw new RangeError(`transaction ${one.index} in a batch where ${first.index + position} is next`);
    for (const change of one.changes) {
      let rows = latest.get(change.table);
      if (!rows) latest.set(change.table, (rows = new Map()));
      rows.set(change.key, change);
      tableIndexes.set(change.table, one.index);
    }
  });
  return {
    from: first.index - 1,
    to: last.index,
    tables: TABLE_NAMES.flatMap((table) => {
      const changes = latest.get(table);
      return changes ? [tableBatch(table, changes.values())] : [];
    }),
    tableIndexes: [...tableIndexes].map(([name, index]) => ({ name, index })),
    txns: applied.map((one) => txnRow(one.txn, one.verdict)),
  };
}

function tableBatch(table: TableName, changes: Iterable<Change>): TableBatch {
  const upserts: object[] = [];
  const removes: StoredRow[] = [];
  for (const { after, before } of changes)
    if (after) upserts.push(after);
    else if (before) removes.push(primaryKeyOf(table, before));
  return { table, upserts, removes };
}

function txnRow(txn: Txn, verdict: Verdict): StoredRow {
  return {
    index: txn.index,
    type: TXN_TYPES[txn.type].number,
    name: txn.type,
    time_ns: txn.timeNs,
    region: txn.region,
    namespace: txn.namespace,
    actor: txn.actor,
    reason: txn.reason,
    request_id: txn.requestId,
    role: txn.fence?.role ?? '',
    epoch: txn.fence?.epoch ?? 0,
    traceparent: txn.traceparent ?? '',
    schema_version: txn.schemaVersion,
    verdict: verdict.kind,
    error: verdict.error ?? null,
    result: 'result' in verdict ? (verdict.result ?? null) : null,
  };
}
