import { TABLE_NAMES, type TableName } from '@waybill/state';
import { TABLE_LAYOUTS } from './table-layout.js';

/** A statement with a name is prepared once per connection. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

export interface TableStatements {
  /** $1: JSON array of stored rows, every key at most once. */
  readonly upsert: NamedStatement;
  /** $1: JSON array of primary keys. */
  readonly remove: NamedStatement;
}

/**
 * One statement for any number of rows: as fast as COPY and merge, without a temporary table. Folded to one row per key
 * by the caller, as the same key twice is an error of ON CONFLICT.
 */
function tableStatements(table: TableName): TableStatements {
  const { columns, primaryKey } = TABLE_LAYOUTS[table];
  const definition = columns.map(({ name, type }) => `"${name}" ${type}`);
  const written = [...columns.map(({ name }) => name).filter((name) => !primaryKey.includes(name)), 'body'];
  const keys = columns.filter(({ name }) => primaryKey.includes(name)).map(({ name, type }) => `"${name}" ${type}`);
  return {
    upsert: {
      name: `upsert_${table}`,
      text: `insert into "${table}" select * from jsonb_to_recordset($1::jsonb) as x(${definition.join(', ')}, body jsonb)
        on conflict (${primaryKey.join(', ')}) do update set
        ${written.map((name) => `"${name}" = excluded."${name}"`).join(', ')}`,
    },
    remove: {
      name: `remove_${table}`,
      text: `delete from "${table}" t using jsonb_to_recordset($1::jsonb) as x(${keys.join(', ')})
        where ${primaryKey.map((name) => `t."${name}" = x."${name}"`).join(' and ')}`,
    },
  };
}

export const TABLE_STATEMENTS = Object.fromEntries(
  TABLE_NAMES.map((table) => [table, tableStatements(table)]),
) as Readonly<Record<TableName, TableStatements>>;

/** No conflict clause: the compare-and-set of the applied index makes sure that an index is written once. */
export const INSERT_TXNS: NamedStatement = {
  name: 'insert_txns',
  text: `insert into txn select * from jsonb_to_recordset($1::jsonb) as x(
    index bigint, type integer, name text, time_ns bigint, region text, namespace text, actor jsonb, reason text,
    request_id text, role text, epoch bigint, traceparent text, schema_version integer, verdict text, error text,
    result jsonb)`,
};

export const MOVE_TABLE_INDEXES: NamedStatement = {
  name: 'move_table_indexes',
  text: `insert into table_index select * from jsonb_to_recordset($1::jsonb) as x(name text, index bigint)
    on conflict (name) do update set index = excluded.index`,
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
