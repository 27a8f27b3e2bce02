import { TABLE_NAMES, type TableName, TXN_TYPES } from '@waybill/state';
import type { AllocJob } from './alloc-jobs.js';
import type { Batch, TxnObject, TxnRecord } from './batch.js';
import { binaryArray, type ElementType } from './binary-array.js';
import type { SharedTexts } from './shared-texts.js';
import { storable, storedJson, storedText } from './stored-text.js';
import { type ColumnValue, TABLE_LAYOUTS, type TableLayout } from './table-layout.js';

/** A statement with a name is prepared once per connection. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/** A statement that takes any number of rows. */
export interface RowsStatement<Row> extends NamedStatement {
  valuesOf(rows: readonly Row[], texts: SharedTexts): readonly Buffer[];
}

interface StatementColumn<Row> {
  readonly name: string;
  readonly type: ElementType;
  readonly valueOf: (row: Row, texts: SharedTexts) => ColumnValue | null;
}

/** `unnest(…)` of one array per column. The client works the columns out: Postgres looks at no body. */
function unnested<Row>(columns: readonly StatementColumn<Row>[]): {
  readonly sql: string;
  readonly valuesOf: RowsStatement<Row>['valuesOf'];
} {
  return {
    sql: `unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')})`,
    valuesOf: (rows, texts) =>
      columns.map(({ type, valueOf }) =>
        binaryArray(
          type,
          rows.map((row) => valueOf(row, texts)),
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
  const rows = unnested<Row>(stored);
  const updated = names.filter((name) => !primaryKey.includes(name));
  const keyColumns = columns.filter(({ name }) => primaryKey.includes(name));
  const keys = unnested(keyColumns);
  const keyNames = keyColumns.map(({ name }) => name);
  return {
    upsert: {
      name: `upsert_${table}`,
      text: `insert into "${table}" (${quoted(names)}) select * from ${rows.sql}
        on conflict (${quoted(primaryKey)}) do update set ${together(updated, '', 'excluded.', ', ')}`,
      valuesOf: rows.valuesOf,
    },
    remove: {
      name: `remove_${table}`,
      text: `delete from "${table}" t using ${keys.sql} as x(${quoted(keyNames)})
        where ${together(keyNames, 't.', 'x.', ' and ')}`,
      valuesOf: keys.valuesOf,
    },
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
  { name: 'schema_version', type: 'integer', valueOf: ({ txn }) => txn.schemaVersion },
  { name: 'verdict', type: 'text', valueOf: ({ verdict }) => verdict.kind },
  {
    name: 'error',
    type: 'text',
    valueOf: ({ verdict }) => (verdict.error === undefined ? null : storedText(verdict.error)),
  },
  { name: 'result', type: 'json', valueOf: ({ verdict }) => jsonOf('result' in verdict ? verdict.result : null) },
];

const txnRows = unnested(TXN_COLUMNS);

/** No conflict clause: the compare-and-set of the applied index makes sure that an index is written once. */
export const INSERT_TXNS: RowsStatement<TxnRecord> = {
  name: 'insert_txns',
  text: `insert into txn (${quoted(TXN_COLUMNS.map(({ name }) => name))}) select * from ${txnRows.sql}`,
  valuesOf: txnRows.valuesOf,
};

const txnObjectRows = unnested<TxnObject>([
  { name: 'index', type: 'bigint', valueOf: ({ index }) => index },
  { name: 'kind', type: 'text', valueOf: ({ object }) => object.kind },
  { name: 'namespace', type: 'text', valueOf: ({ object }) => storedText(object.namespace) },
  { name: 'id', type: 'text', valueOf: ({ object }) => storedText(object.id) },
  { name: 'op', type: 'text', valueOf: ({ object }) => object.op },
  { name: 'change', type: 'text', valueOf: ({ object }) => storedText(object.text) },
  { name: 'job_key', type: 'text', valueOf: ({ jobKey }) => jobKey },
  { name: 'undo', type: 'varchar', valueOf: ({ object }) => jsonOf(object.undo) },
]);

export const INSERT_TXN_OBJECTS: RowsStatement<TxnObject> = {
  name: 'insert_txn_objects',
  text: `insert into txn_object (index, kind, namespace, id, op, change, job_key, undo) select * from ${txnObjectRows.sql}`,
  valuesOf: txnObjectRows.valuesOf,
};

const tableIndexRows = unnested<Batch['tableIndexes'][number]>([
  { name: 'name', type: 'text', valueOf: ({ name }) => name },
  { name: 'index', type: 'bigint', valueOf: ({ index }) => index },
]);

export const MOVE_TABLE_INDEXES: RowsStatement<Batch['tableIndexes'][number]> = {
  name: 'move_table_indexes',
  text: `insert into table_index (name, index) select * from ${tableIndexRows.sql}
    on conflict (name) do update set index = excluded.index`,
  valuesOf: tableIndexRows.valuesOf,
};

const ALLOC_JOB_KEY: readonly StatementColumn<AllocJob>[] = [
  { name: 'namespace', type: 'text', valueOf: ({ namespace }) => storedText(namespace) },
  { name: 'job_id', type: 'text', valueOf: ({ jobId }) => storedText(jobId) },
  { name: 'key', type: 'text', valueOf: ({ key }) => key },
];
const allocJobRows = unnested<AllocJob>([
  ...ALLOC_JOB_KEY,
  { name: 'version', type: 'bigint', valueOf: ({ job }) => job.Version },
  bodyColumn(({ job }) => job),
]);

/** The key is the content's: what is there already is the same. */
export const STORE_ALLOC_JOBS: RowsStatement<AllocJob> = {
  name: 'store_alloc_jobs',
  text: `insert into alloc_job (namespace, job_id, key, version, body) select * from ${allocJobRows.sql}
    on conflict do nothing`,
  valuesOf: allocJobRows.valuesOf,
};

/**
 * First statement of a batch: whoever does not find the index where it left it writes nothing, and of two writers the
 * second waits here for the first. $1: from, $2: to.
 */
export const MOVE_APPLIED: NamedStatement = {
  name: 'move_applied',
  text: 'update projection set applied = $2, applied_at = now() where id = 1 and applied = $1',
};

export const READ_APPLIED: NamedStatement = {
  name: 'read_applied',
  text: 'select applied from projection where id = 1',
};
