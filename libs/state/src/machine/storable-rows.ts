import {
  fitIndexKey,
  isStorableBigint,
  isStorableInteger,
  MAX_INDEX_KEY_BYTES,
  MAX_UNMEASURED_UNITS,
} from '@waybill/model';
import { TABLE_NAMES, type TableName, type TableRows } from './tables.js';

/** A text of a row: the name of its member, or a function that finds it. */
type TextOf<Row> = (keyof Row & string) | ((row: Row) => unknown);

/** The columns in which projections store values of a row, beside the row as a whole. */
interface StoredColumns<Row> {
  /** Texts that share one index. Texts that no index contains are limited by the message's size only. */
  readonly keys: readonly (readonly TextOf<Row>[])[];
  /** Texts in columns without an index. */
  readonly texts?: readonly (keyof Row & string)[];
  /** Numbers of 64 bits. */
  readonly bigints: readonly (keyof Row & string)[];
  /** Numbers of 32 bits. */
  readonly integers?: readonly (keyof Row & string)[];
}

const INDEXES = ['CreateIndex', 'ModifyIndex'] as const;
const JOB = ['Namespace', 'JobID'] as const;
const OWN_ID = ['Namespace', 'ID'] as const;

/**
 * The columns of every table (docs/architecture.md, Limits). The history has a key of namespace and ID for the objects
 * that it keeps, whatever the key of their table is. A test of the projection compares this list with its tables.
 */
export const STORED_COLUMNS: { readonly [N in TableName]: StoredColumns<TableRows[N]> } = {
  jobs: {
    keys: [OWN_ID, ['Namespace', 'ParentID']],
    texts: ['Type', 'Status', 'NodePool'],
    bigints: ['Version', 'JobModifyIndex', ...INDEXES],
    integers: ['Priority'],
  },
  job_version: { keys: [OWN_ID], bigints: ['Version', 'JobModifyIndex', ...INDEXES] },
  job_submission: { keys: [JOB], bigints: ['Version', 'JobModifyIndex'] },
  job_summary: { keys: [JOB], bigints: INDEXES },
  periodic_launch: { keys: [OWN_ID], bigints: INDEXES },
  scaling_event: { keys: [JOB], bigints: INDEXES },
  scaling_policy: {
    keys: [['ID'], [({ Target }) => Target?.['Namespace'], ({ Target }) => Target?.['Job']]],
    texts: ['Type'],
    bigints: INDEXES,
  },
  evals: {
    keys: [OWN_ID, JOB],
    texts: ['NodeID', 'DeploymentID', 'Type', 'Status', 'TriggeredBy'],
    bigints: INDEXES,
    integers: ['Priority'],
  },
  allocs: {
    keys: [OWN_ID, JOB, ['NodeID'], ['EvalID'], ['DeploymentID']],
    texts: ['TaskGroup', 'DesiredStatus', 'ClientStatus'],
    bigints: ['AllocModifyIndex', ...INDEXES],
  },
  deployment: { keys: [OWN_ID, JOB], texts: ['Status'], bigints: INDEXES },
  nodes: {
    keys: [['ID']],
    texts: ['Name', 'Datacenter', 'NodeClass', 'NodePool', 'Status', 'SchedulingEligibility'],
    bigints: INDEXES,
  },
  node_pools: { keys: [['Name']], bigints: INDEXES },
  namespaces: { keys: [['Name']], bigints: INDEXES },
  service_registrations: {
    keys: [OWN_ID, ['Namespace', 'ServiceName'], ['AllocID']],
    texts: ['JobID', 'NodeID'],
    bigints: INDEXES,
  },
  csi_volumes: { keys: [OWN_ID], texts: ['PluginID'], bigints: INDEXES },
  csi_plugins: { keys: [['ID']], bigints: INDEXES },
  host_volumes: { keys: [OWN_ID], texts: ['Name', 'NodeID', 'NodePool'], bigints: INDEXES },
  task_volume: { keys: [['ID']], texts: ['Namespace', 'JobID', 'TaskGroupName', 'VolumeName'], bigints: INDEXES },
  scheduler_config: { keys: [], bigints: INDEXES },
  cluster_meta: { keys: [], bigints: ['ModifyIndex'] },
  leases: { keys: [['Role']], texts: ['Holder'], bigints: ['Epoch', 'ModifyIndex'] },
  acl_policy: {
    keys: [['Name'], [({ JobACL }) => JobACL?.Namespace]],
    bigints: INDEXES,
  },
  acl_token: { keys: [['AccessorID'], ['SecretHash']], texts: ['Type'], bigints: INDEXES },
  acl_token_bootstrap: { keys: [], bigints: ['ModifyIndex'] },
  acl_roles: { keys: [['ID'], ['Name']], bigints: INDEXES },
  one_time_token: { keys: [['AccessorID'], ['OneTimeSecretHash']], bigints: INDEXES },
  acl_auth_methods: { keys: [['Name']], bigints: INDEXES },
  acl_binding_rules: { keys: [['ID'], ['AuthMethod']], bigints: INDEXES },
  node_introductions: { keys: [['TokenID']], bigints: INDEXES },
  root_keys: { keys: [['KeyID']], texts: ['State'], bigints: ['CreateTime', ...INDEXES] },
  variables: { keys: [['Namespace', 'Path'], ['KeyID']], bigints: INDEXES },
};

/** The columns of a table, each member once. */
interface Glance {
  readonly keyTexts: readonly string[];
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  /** Whether a text of a key is computed and no member of the row. */
  readonly isMade: boolean;
}

function glanceOf({ keys, texts = [], bigints, integers = [] }: StoredColumns<never>): Glance {
  const parts = keys.flat();
  const members = parts.flatMap((of) => (typeof of === 'function' ? [] : [of]));
  const isMade = members.length < parts.length;
  return { keyTexts: [...new Set(members)], texts, numbers: [...bigints, ...integers], isMade };
}

const GLANCES: ReadonlyMap<TableName, Glance> = new Map(
  TABLE_NAMES.map((table) => [table, glanceOf(STORED_COLUMNS[table])]),
);

/**
 * Whether nothing of the row must be measured, because its texts are short and its numbers small. This holds for nearly
 * every row.
 */
function fitsAtAGlance(table: TableName, row: object): boolean {
  const glance = GLANCES.get(table);
  if (!glance || glance.isMade) return false;
  const members = row as Readonly<Record<string, unknown>>;
  let units = 0;
  for (const name of glance.keyTexts) {
    const text = members[name];
    if (typeof text !== 'string') return false;
    units += text.length;
  }
  if (units > MAX_UNMEASURED_UNITS) return false;
  for (const name of glance.texts) if (typeof members[name] !== 'string') return false;
  for (const name of glance.numbers) {
    const number = members[name];
    if (typeof number !== 'number' || (number | 0) !== number) return false;
  }
  return true;
}

/**
 * The reason why no projection can store the row; undefined: it can. A missing member is stored as empty or 0. Cost: a
 * check of each column; only long keys and large numbers are measured.
 */
export function unstorable<N extends TableName>(table: N, row: TableRows[N]): string | undefined {
  return fitsAtAGlance(table, row) ? undefined : problemOf(table, row);
}

function problemOf<N extends TableName>(table: N, row: TableRows[N]): string | undefined {
  const { keys, texts, bigints, integers }: StoredColumns<TableRows[N]> = STORED_COLUMNS[table];
  for (const key of keys) {
    const parts: string[] = [];
    for (const of of key) {
      const part: unknown = typeof of === 'function' ? of(row) : row[of];
      if (typeof part === 'string') parts.push(part);
      else if (isAnother(part)) return notText(table, of);
    }
    if (!fitIndexKey(parts)) return tooLong(table, key);
  }
  for (const member of texts ?? [])
    if (typeof row[member] !== 'string' && isAnother(row[member])) return notText(table, member);
  for (const member of bigints) if (!isNumber(row[member], isStorableBigint)) return notNumber(table, member, 64);
  for (const member of integers ?? [])
    if (!isNumber(row[member], isStorableInteger)) return notNumber(table, member, 32);
  return undefined;
}

const isNumber = (value: unknown, isStorable: (value: number) => boolean): boolean =>
  typeof value === 'number' ? isStorable(value) : !isAnother(value) && typeof value !== 'string';

/** Whether the value is neither a text nor absent: `column` of the projection's layout stores it unchanged. */
const isAnother = (value: unknown): boolean => typeof value === 'number' || typeof value === 'boolean';

/** The member that contains the texts which a function finds. */
const nameOf = (table: TableName, of: unknown): string =>
  typeof of === 'string' ? of : table === 'acl_policy' ? 'JobACL' : 'Target';
const tooLong = (table: TableName, key: readonly unknown[]): string =>
  `${table} cannot be stored: ${key.map((of) => nameOf(table, of)).join(' and ')} must be at most ${MAX_INDEX_KEY_BYTES} bytes`;
const notText = (table: TableName, of: unknown): string => `${table} cannot be stored: ${nameOf(table, of)} is no text`;
const notNumber = (table: string, of: string, bits: number): string =>
  `${table} cannot be stored: ${of} is no whole number of ${bits} bits`;
