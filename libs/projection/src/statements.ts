import { SINGLETON_KEY, TABLE_NAMES, type TableName } from '@waybill/state';
import { type Column, type ColumnType, TABLE_LAYOUTS } from './table-layout.js';

/** A statement with a name is prepared once per connection. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

export interface TableStatements {
  /** $1: JSON array of rows, every key at most once. */
  readonly upsert: NamedStatement;
  /** $1: JSON array of primary keys. */
  readonly remove: NamedStatement;
}

/**
 * One statement for any number of rows. The columns are taken out of the body by Postgres: sending them beside it costs
 * more, on both sides. As fast as COPY and merge, without a temporary table. Folded to one row per key by the caller, as
 * the same key twice is an error of ON CONFLICT.
 */
function tableStatements(table: TableName): TableStatements {
  const { primaryKey } = TABLE_LAYOUTS[table];
  const columns: readonly Column<never>[] = TABLE_LAYOUTS[table].columns;
  const names = [...columns.map(({ name }) => `"${name}"`), 'body'];
  const updated = names.filter((name) => !primaryKey.includes(name.replaceAll('"', '')));
  const keys = columns.filter(({ name }) => primaryKey.includes(name)).map(({ name, type }) => `"${name}" ${type}`);
  return {
    upsert: {
      name: `upsert_${table}`,
      text: `insert into "${table}" (${names.join(', ')})
        select ${columns.map(valueOf).join(', ')}, b from jsonb_array_elements($1::jsonb) b
        on conflict (${primaryKey.join(', ')}) do update set
        ${updated.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    },
    remove: {
      name: `remove_${table}`,
      text: `delete from "${table}" t using jsonb_to_recordset($1::jsonb) as x(${keys.join(', ')})
        where ${primaryKey.map((name) => `t."${name}" = x."${name}"`).join(' and ')}`,
    },
  };
}

/** A member that is missing must not stop the projection: the columns are for searching only. */
const WHEN_MISSING: { readonly [T in ColumnType]: string } = {
  text: `''`,
  bigint: '0',
  integer: '0',
  boolean: 'false',
};

function valueOf({ type, member }: Column<never>): string {
  if (member === null) return `'${SINGLETON_KEY}'`;
  const value = type === 'text' ? `b->>'${String(member)}'` : `(b->'${String(member)}')::${type}`;
  return `coalesce(${value}, ${WHEN_MISSING[type]})`;
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
