import { storedBytes } from '@waybill/model';
import { HISTORY_TABLES, STORED_COLUMNS, TABLE_NAMES, type TableName } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { entities } from '../database/entities.js';
import { storedText } from './stored-text.js';
import { TABLE_LAYOUTS } from './table-layout.js';

/** Columns whose content has one length, whatever the row. */
const FIXED: ReadonlySet<string> = new Set([
  'allocs.job_key',
  'scheduler_config.id',
  'cluster_meta.id',
  'acl_token_bootstrap.id',
]);

/** The member of a row that a column repeats; of a scaling policy's target the target, of a policy's JobACL that. */
function memberOf(table: TableName, name: string): string {
  const column = TABLE_LAYOUTS[table].columns.find((one) => one.name === name);
  const asked: string[] = [];
  const row = new Proxy({}, { get: (_, member) => void asked.push(String(member)) });
  column?.valueOf(row as never);
  expect(asked, `${table}.${name}`).toHaveLength(1);
  return asked[0] ?? '';
}

/** Members that the state machine measures together, by table. */
const keysOf = (table: TableName): string[][] =>
  STORED_COLUMNS[table].keys.map((key) =>
    key.map((of) => (typeof of !== 'function' ? of : table === 'acl_policy' ? 'JobACL' : 'Target')),
  );

interface Index {
  readonly table: string;
  readonly columns: readonly string[];
}

/** Primary keys and indexes of all tables, by the columns of text in them. */
const INDEXES: readonly Index[] = entities.flatMap(({ options }) => {
  const table = options.name;
  const columns = Object.entries(options.columns);
  const texts = new Set(columns.flatMap(([name, column]) => (column?.type === 'text' ? [name] : [])));
  const primaryKey = columns.flatMap(([name, column]) => (column?.primary ? [name] : []));
  const others = (options.indices ?? []).map((index) =>
    Array.isArray(index.columns) ? index.columns.map(String) : [],
  );
  return [primaryKey, ...others].map((names) => ({ table, columns: names.filter((name) => texts.has(name)) }));
});

/** Tables that no row of the state is stored in, with what limits the texts of their indexes. */
const ELSEWHERE: Readonly<Record<string, readonly Index['columns'][]>> = {
  // The job of an allocation, and a hash.
  alloc_job: [['namespace', 'job_id', 'key']],
  // MAX_TRACEPARENT_CHARS
  txn: [[], [], ['traceparent']],
  // A name of HISTORY_TABLES and what the row's own limits say; a hash.
  txn_object: [['kind', 'id', 'namespace'], [], ['job_key']],
  // Names of tables and kinds, and a hash.
  set_aside: [['part', 'key_hash']],
  // Names of tables.
  table_index: [['name']],
  projection: [[]],
  log_hashes: [[]],
  log_scrub: [[]],
};

describe('every column of the projection has a limit', () => {
  it.each(TABLE_NAMES)('%s: the state machine measures what its columns hold', (table) => {
    const { texts = [], bigints, integers = [] } = STORED_COLUMNS[table];
    for (const { name, type } of TABLE_LAYOUTS[table].columns) {
      if (FIXED.has(`${table}.${name}`) || type === 'boolean') continue;
      const measured = { text: [...keysOf(table).flat(), ...texts], bigint: bigints, integer: integers }[type];
      expect(measured, `${table}.${name}`).toContain(memberOf(table, name));
    }
  });

  it.each(INDEXES)('$table: the texts of the index on $columns are measured together', ({ table, columns }) => {
    const known = TABLE_NAMES.find((name) => name === table);
    if (known === undefined) {
      expect(ELSEWHERE[table]).toContainEqual(columns);
      return;
    }
    const members = columns.filter((name) => !FIXED.has(`${table}.${name}`)).map((name) => memberOf(known, name));
    const covers = (key: readonly string[]): boolean => members.every((member) => key.includes(member));
    expect(members.length === 0 || keysOf(known).some(covers), `${table}: ${columns.join(', ')}`).toBe(true);
  });

  it.each(Object.values(HISTORY_TABLES))('%s: namespace and ID fit the key of the history together', (table) => {
    if (table === 'scheduler_config') return; // has one ID, that of SCHEDULER_CONFIG_ID
    const [ownId] = keysOf(table);
    const hasNamespace = TABLE_LAYOUTS[table].columns.some(({ name }) => name === 'namespace');
    expect(ownId).toEqual(
      hasNamespace
        ? ['Namespace', table === 'variables' ? 'Path' : 'ID']
        : [expect.stringMatching(/^(ID|Name|AccessorID)$/)],
    );
  });
});

it.each(['', 'a', 'é', '😀', '\0', '\ud83d', '\ude00', '\ude00\ud83d', '\ue000', 'a\0\ue000😀\ud83dé'])(
  '%j is measured as it is stored',
  (text) => {
    expect(storedBytes(text)).toBe(Buffer.byteLength(storedText(text)));
  },
);
