import { DatabaseError } from 'pg';
import { TABLE_NAMES, type TableName, TXN_TYPES } from '@waybill/state';
import type { AllocJob } from '../reading/alloc-jobs.js';
import type { Batch, TxnObject, TxnRecord } from './batch.js';
import { binaryArray } from './binary-array.js';
import type { BinaryType } from './binary-values.js';
import { copiedRows, CopyIn } from './copy-in.js';
import type { SharedTexts } from './shared-texts.js';
import { storable, storedJson, storedText } from './stored-text.js';
import { type ColumnValue, TABLE_LAYOUTS, type TableLayout } from './table-layout.js';

/** A statement with a name, which is prepared once per connection. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/** A statement with its values. */
export type Step = (NamedStatement & { readonly values?: unknown[] }) | CopyIn;

/** An operation on any number of rows. */
export interface RowsStatement<Row> {
  of(rows: readonly Row[], texts: SharedTexts): Step;
}

interface StatementColumn<Row> {
  readonly name: string;
  readonly type: BinaryType;
  readonly valueOf: (row: Row, texts: SharedTexts) => ColumnValue | null;
}

/**
 * Builds a statement with `unnest(…)` of one array per column. The client extracts the columns, so PostgreSQL parses no
 * body.
 * @param text the statement around it
 */
export function unnesting<Row>(
  name: string,
  columns: readonly StatementColumn<Row>[],
  text: (unnested: string) => string,
): RowsStatement<Row> {
  const statement = {
    name,
    text: text(`unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')})`),
  };
  return {
    of: (rows, texts) => ({
      ...statement,
      values: columns.map(({ type, valueOf }) =>
        binaryArray(
          type,
          rows.map((row) => valueOf(row, texts)),
        ),
      ),
    }),
  };
}

/** Builds a COPY of rows that do not exist yet. */
function copying<Row>(table: string, columns: readonly StatementColumn<Row>[]): RowsStatement<Row> {
  const text = `copy "${table}" (${quoted(columns.map(({ name }) => name))}) from stdin (format binary)`;
  return {
    of: (rows, texts) =>
      new CopyIn(
        text,
        copiedRows(
          columns,
          rows.map((row) => columns.map(({ valueOf }) => valueOf(row, texts))),
        ),
      ),
  };
}

const bodyColumn = <Row>(bodyOf: (row: Row) => object): StatementColumn<Row> => ({
  name: 'body',
  type: 'varchar',
  valueOf: (row, texts) => storable(texts.textOf(bodyOf(row))),
});

export interface TableStatements<Row> {
  /** Inserts keys that do not exist, each at most once. */
  readonly insert: RowsStatement<Row>;
  /** Inserts or replaces. Every key at most once, because the same key twice is an error of ON CONFLICT. */
  readonly upsert: RowsStatement<Row>;
  readonly remove: RowsStatement<Row>;
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');
const columnPairs = (names: readonly string[], left: string, right: string, by: string): string =>
  names.map((name) => `${left}"${name}" = ${right}"${name}"`).join(by);

function tableStatements<Row extends object>(
  table: TableName,
  { columns, primaryKey, bodyOf }: TableLayout<Row>,
): TableStatements<Row> {
  const stored = [...columns, bodyColumn<Row>(bodyOf ?? ((row) => row))];
  const names = stored.map(({ name }) => name);
  const updated = names.filter((name) => !primaryKey.includes(name));
  const keys = columns.filter(({ name }) => primaryKey.includes(name));
  const keyNames = keys.map(({ name }) => name);
  return {
    insert: copying(table, stored),
    upsert: unnesting(
      `upsert_${table}`,
      stored,
      (rows) => `insert into "${table}" (${quoted(names)}) select * from ${rows}
        on conflict (${quoted(primaryKey)}) do update set ${columnPairs(updated, '', 'excluded.', ', ')}`,
    ),
    remove: unnesting(
      `remove_${table}`,
      keys,
      (rows) => `delete from "${table}" t using ${rows} as x(${quoted(keyNames)})
        where ${columnPairs(keyNames, 't.', 'x.', ' and ')}`,
    ),
  };
}

/** Statements by table. The rows must be the table's. */
export const TABLE_STATEMENTS = Object.fromEntries(
  TABLE_NAMES.map((table) => [table, tableStatements<never>(table, TABLE_LAYOUTS[table])]),
) as Readonly<Record<TableName, TableStatements<object>>>;

const jsonOf = (value: unknown): string | null => (value === null || value === undefined ? null : storedJson(value));

const TXN_COLUMNS: readonly StatementColumn<TxnRecord>[] = [
  { name: 'index', type: 'bigint', valueOf: ({ txn }) => txn.index },
  { name: 'type', type: 'integer', valueOf: ({ txn }) => TXN_TYPES[txn.type].number },
  { name: 'name', type: 'text', valueOf: ({ txn }) => txn.type },
  { name: 'time_ns', type: 'bigint', valueOf: ({ txn }) => txn.timeNs },
  { name: 'region', type: 'text', valueOf: ({ txn }) => storedText(txn.region) },
  { name: 'namespace', type: 'text', valueOf: ({ txn }) => storedText(txn.namespace) },
  { name: 'actor', type: 'json', valueOf: ({ txn }) => storedJson(txn.actor) },
  { name: 'reason', type: 'text', valueOf: ({ txn }) => storedText(txn.reason) },
  { name: 'request_id', type: 'text', valueOf: ({ txn }) => storedText(txn.requestId) },
  { name: 'role', type: 'text', valueOf: ({ txn }) => storedText(txn.fence?.role ?? '') },
  { name: 'epoch', type: 'bigint', valueOf: ({ txn }) => txn.fence?.epoch ?? 0 },
  { name: 'traceparent', type: 'text', valueOf: ({ txn }) => storedText(txn.traceparent ?? '') },
  { name: 'step_times', type: 'text', valueOf: ({ txn }) => storedText(txn.stepTimes ?? '') },
  { name: 'schema_version', type: 'integer', valueOf: ({ txn }) => txn.schemaVersion },
  { name: 'verdict', type: 'text', valueOf: ({ verdict }) => verdict.kind },
  { name: 'refusal_code', type: 'text', valueOf: ({ verdict }) => (verdict.kind === 'refused' ? verdict.code : null) },
  {
    name: 'error',
    type: 'text',
    valueOf: ({ verdict }) => (verdict.error === undefined ? null : storedText(verdict.error)),
  },
  { name: 'result', type: 'json', valueOf: ({ verdict }) => jsonOf('result' in verdict ? verdict.result : null) },
];

/** Inserts records. The compare-and-set of the applied index ensures that each index is written once. */
export const INSERT_TXNS = copying('txn', TXN_COLUMNS);

export const INSERT_TXN_OBJECTS = copying<TxnObject>('txn_object', [
  { name: 'index', type: 'bigint', valueOf: ({ index }) => index },
  { name: 'kind', type: 'text', valueOf: ({ object }) => object.kind },
  { name: 'namespace', type: 'text', valueOf: ({ object }) => storedText(object.namespace) },
  { name: 'id', type: 'text', valueOf: ({ object }) => storedText(object.id) },
  { name: 'op', type: 'text', valueOf: ({ object }) => object.op },
  { name: 'change', type: 'text', valueOf: ({ object }) => storedText(object.text) },
  { name: 'job_key', type: 'text', valueOf: ({ jobKey }) => jobKey },
  { name: 'undo', type: 'varchar', valueOf: ({ object }) => jsonOf(object.undo) },
]);

export const MOVE_TABLE_INDEXES = unnesting<Batch['tableIndexes'][number]>(
  'move_table_indexes',
  [
    { name: 'name', type: 'text', valueOf: ({ name }) => name },
    { name: 'index', type: 'bigint', valueOf: ({ index }) => index },
  ],
  (rows) => `insert into table_index (name, index) select * from ${rows}
    on conflict (name) do update set index = excluded.index`,
);

/** The key is computed from the content, so an existing row is equal. */
export const STORE_ALLOC_JOBS = unnesting<AllocJob>(
  'store_alloc_jobs',
  [
    { name: 'namespace', type: 'text', valueOf: ({ namespace }) => storedText(namespace) },
    { name: 'job_id', type: 'text', valueOf: ({ jobId }) => storedText(jobId) },
    { name: 'key', type: 'text', valueOf: ({ key }) => key },
    { name: 'version', type: 'bigint', valueOf: ({ job }) => job.Version },
    bodyColumn(({ job }) => job),
  ],
  (rows) => `insert into alloc_job (namespace, job_id, key, version, body) select * from ${rows}
    on conflict do nothing`,
);

/**
 * First statement of a batch. A writer that does not find the expected index writes nothing, and of two writers the
 * second waits here for the first. The statement then fails, because the column is not nullable, and with it all
 * statements sent after it. $1: from, $2: to, $3: whether the writer believes that rows are set aside (null if it does
 * not matter), $4: index of the newest frame in EVENTS.
 */
export const MOVE_APPLIED: NamedStatement = {
  name: 'move_applied',
  text: `update projection set applied = case when applied = $1
    and ($3::boolean is null or $3 = exists (select from set_aside)) then $2::bigint end, applied_at = now(),
    framed = greatest(framed, $4::bigint) where id = 1`,
};

/** Removes the records of a lost history. $1: the last valid index. */
export const FORGET_TXNS: NamedStatement = { name: 'forget_txns', text: 'delete from txn where index > $1' };
export const FORGET_TXN_OBJECTS: NamedStatement = {
  name: 'forget_txn_objects',
  text: 'delete from txn_object where index > $1',
};
/** Removes the hashes of the lost part of the log, whose content is different now. */
export const FORGET_LOG_HASHES: NamedStatement = {
  name: 'forget_log_hashes',
  text: 'delete from log_hashes where last > $1',
};
/** $2: index of the newest frame in EVENTS up to there; null if it is unknown, unless it is lower already. */
export const LOWER_FLOOR: NamedStatement = {
  name: 'lower_floor',
  text: `update projection set history_floor = least(history_floor, $1::bigint + 1),
    framed = coalesce($2::bigint, case when framed <= $1 then framed else 0 end) where id = 1`,
};

const NOT_NULL_VIOLATION = '23502';

/** Whether MOVE_APPLIED did not find the expected index. */
export const isNotMoved = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === NOT_NULL_VIOLATION && error.table === 'projection';

/** Reads the applied index, and whether rows are set aside. */
export const READ_STANDING: NamedStatement = {
  name: 'read_standing',
  text: 'select applied, exists (select from set_aside) as aside from projection where id = 1',
};

/** Reads the index of the newest frame in EVENTS at the last write. */
export const READ_FRAMED: NamedStatement = {
  name: 'read_framed',
  text: 'select framed from projection where id = 1',
};

export const READ_APPLIED: NamedStatement = {
  name: 'read_applied',
  text: 'select applied from projection where id = 1',
};
