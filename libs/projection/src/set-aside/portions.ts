import type { Applied, TableName } from '@waybill/state';
import type { AllocJob } from '../reading/alloc-jobs.js';
import type { Batch, TableBatch, TxnObject, TxnRecord } from '../writing/batch.js';
import type { SharedTexts } from '../writing/shared-texts.js';
import {
  INSERT_TXN_OBJECTS,
  INSERT_TXNS,
  type RowsStatement,
  type Step,
  STORE_ALLOC_JOBS,
  TABLE_STATEMENTS,
} from '../writing/statements.js';
import {
  identityOfAllocJob,
  identityOfRow,
  identityOfTxn,
  identityOfTxnObject,
  type RowIdentity,
  type SetAsideRow,
} from './set-aside-row.js';

/** The rows of a batch that one kind of statement stores. */
export interface Portion {
  readonly size: number;
  /** Builds a statement for the rows from `from` to before `to`. */
  stepOf(from: number, to: number): Step;
  /** Returns a row in the form for `set_aside`, without the reason. */
  rowAt(at: number): Omit<SetAsideRow, 'sqlstate' | 'error'>;
  /** Builds the statement that removes the present row from the table. Undefined if the table cannot have one. */
  removalOf(at: number): (() => Step) | undefined;
}

interface PortionOptions<Row> {
  readonly statement: RowsStatement<Row>;
  readonly rows: readonly Row[];
  readonly identityOf: (row: Row) => RowIdentity;
  readonly originOf: (row: Row) => Applied | undefined;
  readonly removal?: RowsStatement<Row>;
  readonly texts: SharedTexts;
}

function portion<Row>({ statement, rows, identityOf, originOf, removal, texts }: PortionOptions<Row>): Portion {
  const rowOf = (at: number): Row => {
    const row = rows[at];
    if (row === undefined) throw new RangeError(`row ${at} of ${rows.length}`);
    return row;
  };
  return {
    size: rows.length,
    stepOf: (from, to) => statement.of(rows.slice(from, to), texts),
    rowAt: (at) => {
      const origin = originOf(rowOf(at));
      const { index = 0, txn } = origin ?? {};
      return { ...identityOf(rowOf(at)), index, txnName: txn?.type ?? '', timeNs: txn?.timeNs ?? 0 };
    },
    removalOf: (at) => removal && (() => removal.of([rowOf(at)], texts)),
  };
}

/**
 * Yields the rows of a batch in the order of writing. Rows of the state replace existing ones, because a table may
 * still have a row that could not be removed when its successor was set aside.
 */
export function* portionsOf(batch: Batch, applied: readonly Applied[], texts: SharedTexts): Generator<Portion> {
  const { ofRow, at } = originsOf(applied);
  yield portion<AllocJob>({
    statement: STORE_ALLOC_JOBS,
    rows: batch.allocJobs,
    identityOf: identityOfAllocJob,
    originOf: ({ job }) => ofRow(job),
    texts,
  });
  for (const table of batch.tables) yield* ofTable(table, ofRow, texts);
  yield portion<TxnObject>({
    statement: INSERT_TXN_OBJECTS,
    rows: [...batch.objects],
    identityOf: identityOfTxnObject,
    originOf: ({ index }) => at(index),
    texts,
  });
  yield portion<TxnRecord>({
    statement: INSERT_TXNS,
    rows: batch.txns,
    identityOf: identityOfTxn,
    originOf: ({ txn }) => at(txn.index),
    texts,
  });
}

function* ofTable(
  { table, inserts, updates, removes }: TableBatch,
  originOf: (row: object) => Applied | undefined,
  texts: SharedTexts,
): Generator<Portion> {
  const { upsert, remove } = TABLE_STATEMENTS[table];
  const identified =
    (name: TableName, gone: boolean) =>
    (row: object): RowIdentity =>
      identityOfRow(name, row, gone);
  yield portion({ statement: remove, rows: removes, identityOf: identified(table, true), originOf, texts });
  const rows = [...inserts, ...updates];
  yield portion({ statement: upsert, rows, identityOf: identified(table, false), originOf, removal: remove, texts });
}

interface Origins {
  /** Returns the transaction of a row, or of an allocation's job. */
  readonly ofRow: (row: object) => Applied | undefined;
  readonly at: (index: number) => Applied | undefined;
}

/** Cost: the changes of the batch. */
function originsOf(applied: readonly Applied[]): Origins {
  const first = applied[0]?.index ?? 0;
  const origins = new Map<object, Applied>();
  for (const one of applied)
    for (const { table, before, after } of one.changes) {
      if (before) origins.set(before, one);
      if (after) origins.set(after, one);
      if (table === 'allocs' && after?.Job && !origins.has(after.Job)) origins.set(after.Job, one);
    }
  return { ofRow: (row) => origins.get(row), at: (index) => applied[index - first] };
}
