import { TABLE_NAMES } from '@waybill/state';
import { EntitySchema, type EntitySchemaColumnOptions, type EntitySchemaIndexOptions } from 'typeorm';
import { type ColumnType, TABLE_LAYOUTS } from '../writing/table-layout.js';

/**
 * Collation of names and keys. They are compared byte by byte, like in the state machine, whatever the database's
 * locale.
 */
const COLLATION = 'C';

const text: EntitySchemaColumnOptions = { type: 'text', collation: COLLATION };
const bigint: EntitySchemaColumnOptions = { type: 'bigint' };
const integer: EntitySchemaColumnOptions = { type: 'integer' };
const json: EntitySchemaColumnOptions = { type: 'json' };
/** JSON that PostgreSQL does not parse. */
const unread: EntitySchemaColumnOptions = { type: 'varchar' };
const key = (column: EntitySchemaColumnOptions): EntitySchemaColumnOptions => ({ ...column, primary: true });
const nullable = (column: EntitySchemaColumnOptions): EntitySchemaColumnOptions => ({ ...column, nullable: true });

const COLUMN: { readonly [T in ColumnType]: EntitySchemaColumnOptions } = {
  text,
  bigint,
  integer,
  boolean: { type: 'boolean' },
};

const index = (name: string, ...columns: string[]): EntitySchemaIndexOptions => ({ name, columns });
const unique = (name: string, ...columns: string[]): EntitySchemaIndexOptions => ({ name, columns, unique: true });

/** Indexes for lists, beside the primary keys. Prefixes of IDs need none, because keys have the collation "C". */
const INDEXES: Readonly<Record<string, EntitySchemaIndexOptions[]>> = {
  jobs: [index('jobs_parent', 'namespace', 'parent_id')],
  evals: [index('evals_created', 'create_index', 'id'), index('evals_job', 'namespace', 'job_id')],
  allocs: [
    index('allocs_created', 'create_index', 'id'),
    index('allocs_job', 'namespace', 'job_id'),
    index('allocs_node', 'node_id'),
    index('allocs_eval', 'eval_id'),
    index('allocs_deployment', 'deployment_id'),
  ],
  deployment: [index('deployment_created', 'create_index', 'id'), index('deployment_job', 'namespace', 'job_id')],
  scaling_policy: [index('scaling_policy_job', 'namespace', 'job_id')],
  service_registrations: [
    index('service_registrations_name', 'namespace', 'service_name'),
    index('service_registrations_alloc', 'alloc_id'),
  ],
  acl_policy: [index('acl_policy_job_namespace', 'job_namespace')],
  acl_token: [unique('acl_token_secret', 'secret_hash'), index('acl_token_created', 'create_index', 'accessor_id')],
  acl_roles: [index('acl_roles_name', 'name')],
  acl_binding_rules: [index('acl_binding_rules_method', 'auth_method')],
  variables: [index('variables_root_key', 'key_id')],
  one_time_token: [index('one_time_token_secret', 'secret_hash')],
};

type Entity = Record<string, unknown>;

const stateEntities = TABLE_NAMES.map((table) => {
  const { columns, primaryKey } = TABLE_LAYOUTS[table];
  return new EntitySchema<Entity>({
    name: table,
    tableName: table,
    columns: {
      ...Object.fromEntries(
        columns.map(({ name, type }) => [name, primaryKey.includes(name) ? key(COLUMN[type]) : COLUMN[type]]),
      ),
      body: unread,
    },
    ...(INDEXES[table] && { indices: INDEXES[table] }),
  });
});

/** Jobs of allocations. See alloc-jobs.ts. */
const allocJobEntity = new EntitySchema<Entity>({
  name: 'alloc_job',
  tableName: 'alloc_job',
  columns: { namespace: key(text), job_id: key(text), key: key(text), version: bigint, body: unread },
});

/** Every transaction with its verdict: the audit record, and the window of request IDs (ST-6). */
const txnEntity = new EntitySchema<Entity>({
  name: 'txn',
  tableName: 'txn',
  columns: {
    index: key(bigint),
    type: integer,
    name: text,
    time_ns: bigint,
    region: text,
    namespace: text,
    actor: json,
    reason: text,
    request_id: text,
    role: text,
    epoch: bigint,
    traceparent: text,
    schema_version: integer,
    verdict: text,
    refusal_code: nullable(text),
    error: nullable(text),
    result: nullable(json),
    step_times: { ...text, default: '' },
  },
  indices: [index('txn_time', 'time_ns'), { ...index('txn_trace', 'traceparent'), where: `traceparent <> ''` }],
});

/** The history: the changes of each transaction to objects. */
const txnObjectEntity = new EntitySchema<Entity>({
  name: 'txn_object',
  tableName: 'txn_object',
  columns: {
    kind: key(text),
    id: key(text),
    index: key(bigint),
    namespace: key(text),
    op: text,
    change: text,
    job_key: text,
    undo: nullable(unread),
  },
  indices: [index('txn_object_index', 'index'), { ...index('txn_object_job_key', 'job_key'), where: `job_key <> ''` }],
});

/** Rows that PostgreSQL refused to store. See set-aside/. */
const setAsideEntity = new EntitySchema<Entity>({
  name: 'set_aside',
  tableName: 'set_aside',
  columns: {
    part: key(text),
    key_hash: key(text),
    index: bigint,
    txn_name: text,
    time_ns: bigint,
    object: text,
    sqlstate: text,
    error: text,
    job_key: text,
    gone: { type: 'boolean' },
    body: unread,
  },
});

/** Index of every table (ST-27). */
const tableIndexEntity = new EntitySchema<Entity>({
  name: 'table_index',
  tableName: 'table_index',
  columns: { name: key(text), index: bigint },
});

/**
 * A single row: the projected index of the log (ST-7), its newest frame in EVENTS, and the first index with a history.
 */
const projectionEntity = new EntitySchema<Entity>({
  name: 'projection',
  tableName: 'projection',
  columns: {
    id: key(integer),
    applied: bigint,
    applied_at: { type: 'timestamp with time zone' },
    history_floor: { ...bigint, default: 1 },
    framed: { ...bigint, default: 0 },
  },
});

/** Content of the log when it was first read. See log-hashes.ts. */
const logHashesEntity = new EntitySchema<Entity>({
  name: 'log_hashes',
  tableName: 'log_hashes',
  columns: { first: key(bigint), last: bigint, digest: text, unreadable: integer, is_changed: { type: 'boolean' } },
});

/** A single row: progress of the scrubber that reads the log again. */
const logScrubEntity = new EntitySchema<Entity>({
  name: 'log_scrub',
  tableName: 'log_scrub',
  columns: { id: key(integer), next: bigint, pass: bigint, ended_at_ms: bigint },
});

/** All tables of PostgreSQL for TypeORM: schema, migrations and rare reads. The hot path uses pg directly. */
export const entities: readonly EntitySchema<Entity>[] = [
  ...stateEntities,
  allocJobEntity,
  txnEntity,
  txnObjectEntity,
  setAsideEntity,
  tableIndexEntity,
  projectionEntity,
  logHashesEntity,
  logScrubEntity,
];
