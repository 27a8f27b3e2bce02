import { canonicalJson, type StateMachine, TABLE_NAMES, type TableName, type Tables } from '@waybill/state';
import type { Pool } from 'pg';
import { AllocJobChanges } from '../reading/alloc-jobs.js';
import { loadSnapshot } from '../feed/snapshot-source.js';
import type { Batch, TableBatch, TxnRecord } from './batch.js';
import { BatchWriter } from './batch-writer.js';

/** The target of a rewind, and the part of the history that is kept. */
export interface Rewound {
  /** The state at the target index. */
  readonly machine: StateMachine;
  /** Records of transactions above this index belong to a lost history and are removed. */
  readonly keepsHistoryTo: number;
  /** Index of the newest frame in EVENTS up to `keepsHistoryTo`. Absent if only PostgreSQL may know it. */
  readonly framed?: number;
  /** New records of transactions above `keepsHistoryTo`. */
  readonly txns?: readonly TxnRecord[];
}

/**
 * Changes PostgreSQL to the state of another history of the log, in one database transaction. Only rows that differ are
 * written. Readers see either state. Cost: reads all rows and compares them as texts. Memory: one more copy of the
 * state.
 * @param empty a machine into which PostgreSQL is loaded
 * @throws ProjectionMovedError if another writer wrote meanwhile; nothing was changed
 */
export async function rewindProjection(pool: Pool, rewound: Rewound, empty: StateMachine): Promise<void> {
  const { machine, keepsHistoryTo, framed, txns = [] } = rewound;
  const from = await loadSnapshot(pool, empty);
  const { allocJobs, tables } = differenceOf(empty.tables, machine.tables);
  const batch: Batch = {
    from,
    to: machine.appliedIndex,
    allocJobs,
    tables,
    tableIndexes: TABLE_NAMES.map((name) => ({ name, index: machine.tables[name].tableIndex })),
    txns,
    framed: 0,
    objects: [],
  };
  await new BatchWriter(pool).rewrite(batch, keepsHistoryTo, framed);
}

/** Returns the changes from one state to another. O(rows of both). */
export function differenceOf(before: Tables, after: Tables): Pick<Batch, 'allocJobs' | 'tables'> {
  const allocJobs = new AllocJobChanges();
  for (const alloc of after.allocs.all())
    allocJobs.add({ table: 'allocs', key: alloc.ID, before: undefined, after: alloc });
  return { allocJobs: allocJobs.stored, tables: TABLE_NAMES.map((name) => tableDifference(name, before, after)) };
}

function tableDifference(table: TableName, before: Tables, after: Tables): TableBatch {
  const inserts: object[] = [];
  const updates: object[] = [];
  const removes: object[] = [];
  const wanted = new Map<string, object>(after[table].entries());
  for (const [key, row] of before[table].entries()) {
    const other = wanted.get(key);
    if (!other) removes.push(row);
    else if (canonicalJson(row) !== canonicalJson(other)) updates.push(other);
    wanted.delete(key);
  }
  for (const item of wanted.values()) inserts.push(item);
  return { table, inserts, updates, removes };
}
