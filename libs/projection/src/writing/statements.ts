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

/** A statement with a name is prepared once per connection. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/** A statement and all that goes with it. */
export type Step = (NamedStatement & { readonly values?: unknown[] }) | CopyIn;

/** What is done with any number of rows. */
export interface RowsStatement<Row> {
  of(rows: readonly Row[], texts: SharedTexts): Step;
}

interface StatementColumn<Row> {
  readonly name: string;
  readonly type: BinaryType;
  readonly valueOf: (row: Row, texts: SharedTexts) => ColumnValue | null;
}

/**
 * A statement with `unnest(…)` of one array per column in it. The client works the columns out: Postgres looks at no body.
 * @param text of the statement, around that
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

/** Rows that are not there yet. */
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
  /** Of keys that are not there, each at most once. */
  readonly insert: RowsStatement<Row>;
  /** Every key at most once: the same key twice is an error of ON CONFLICT. */
  readonly upsert: RowsStatement<Row>;
  readonly remove: RowsStatement<Row>;
}

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');
const together = (names: readonly string[], left: string, right: string, by: string): string =>
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
        on conflict (${quoted(primaryKey)}) do update set ${together(updated, '', 'excluded.', ', ')}`,
    ),
    remove: unnesting(
      `remove_${table}`,
      keys,
      (rows) => `delete from "${table}" t using ${rows} as x(${quoted(keyNames)})
        where ${together(keyNames, 't.', 'x.', ' and ')}`,
    ),
  };
}

/** The rows given must be the table's. */
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

/** The compare-and-set of the applied index makes sure that an index is written once. */
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

/** The key is the content's: what is there already is the same. */
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
 * First statement of a batch: whoever does not find the index where it left it writes nothing, and of two writers the
 * second waits here for the first. It fails then, because the column takes no null, and with it what was sent behind it.
 * $1: from, $2: to, $3: whether the writer believes that rows are set aside; null: it does not matter. $4: index of the
 * newest frame in EVENTS.
 */
export const MOVE_APPLIED: NamedStatement = {
  name: 'move_applied',
  text: `update projection set applied = case when applied = $1
    and ($3::boolean is null or $3 = exists (select from set_aside)) then $2::bigint end, applied_at = now(),
    framed = greatest(framed, $4::bigint) where id = 1`,
};

/** Records of a history that does not count. $1: the last index that does. */
export const FORGET_TXNS: NamedStatement = { name: 'forget_txns', text: 'delete from txn where index > $1' };
export const FORGET_TXN_OBJECTS: NamedStatement = {
  name: 'forget_txn_objects',
  text: 'delete from txn_object where index > $1',
};
/** What was read of the lost part of the log is no measure for what it has there now. */
export const FORGET_LOG_HASHES: NamedStatement = {
  name: 'forget_log_hashes',
  text: 'delete from log_hashes where last > $1',
};
/** $2: index of the newest frame in EVENTS up to there; null: nobody knows, unless it is below already. */
export const LOWER_FLOOR: NamedStatement = {
  name: 'lower_floor',
  text: `update projection set history_floor = least(history_floor, $1::bigint + 1),
    framed = coalesce($2::bigint, case when framed <= $1 then framed else 0 end) where id = 1`,
};

const NOT_NULL_VIOLATION = '23502';

/** MOVE_APPLIED did not find the index where it should be. */
export const isNotMoved = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === NOT_NULL_VIOLATION && error.table === 'projection';

/** How far it is, and whether rows are set aside. */
export const READ_STANDING: NamedStatement = {
  name: 'read_standing',
  text: 'select applied, exists (select from set_aside) as aside from projection where id = 1',
};

/** Index of the newest frame that was in EVENTS when Postgres was written last. */
export const READ_FRAMED: NamedStatement = {
  name: 'read_framed',
  text: 'select framed from projection where id = 1',
};

export const READ_APPLIED: NamedStatement = {
  name: 'read_applied',
  text: 'select applied from projection where id = 1',
};
