import type { AclPolicy, ScalingPolicy } from '@waybill/model';
import type { TableName, TableRows } from '@waybill/state';
import { SINGLETON_KEY } from '@waybill/state';
import { allocJobKey } from '../reading/alloc-jobs.js';
import { storedText } from './stored-text.js';

export type ColumnType = 'text' | 'bigint' | 'integer' | 'boolean';

/** A value of a column as the driver sends it. */
export type ColumnValue = string | number | boolean;

/** One column beside `body`: a key, or what lists filter and order by. It repeats a member of the row. */
export interface Column<Row> {
  readonly name: string;
  readonly type: ColumnType;
  readonly valueOf: (row: Row) => ColumnValue;
}

/**
 * How a table of the state is stored: `body` is the row as it is, the columns repeat what is searched.
 * The writer, the snapshot and the entities all follow these layouts; the migrations spell them out in SQL, and a test
 * holds both together.
 */
export interface TableLayout<Row> {
  readonly columns: readonly Column<Row>[];
  readonly primaryKey: readonly string[];
  /** Columns that put rows into the log's order of first insertion. */
  readonly insertionOrder: readonly string[];
  /** What is stored as `body`; absent: the row. */
  readonly bodyOf?: (row: Row) => object;
}

export type TableLayouts = { readonly [N in TableName]: TableLayout<TableRows[N]> };

/** A member that is missing must not stop the projection: the columns are for searching only. */
const WHEN_MISSING: { readonly [T in ColumnType]: ColumnValue } = { text: '', bigint: 0, integer: 0, boolean: false };

function column<Row>(name: string, type: ColumnType, member: keyof Row & string): Column<Row> {
  const missing = WHEN_MISSING[type];
  return {
    name,
    type,
    valueOf: (row) => {
      const value: unknown = row[member];
      if (typeof value === 'string') return storedText(value);
      return typeof value === 'number' || typeof value === 'boolean' ? value : missing;
    },
  };
}

const text = <Row>(name: string, member: keyof Row & string): Column<Row> => column(name, 'text', member);
const bigint = <Row>(name: string, member: keyof Row & string): Column<Row> => column(name, 'bigint', member);
const integer = <Row>(name: string, member: keyof Row & string): Column<Row> => column(name, 'integer', member);
const boolean = <Row>(name: string, member: keyof Row & string): Column<Row> => column(name, 'boolean', member);
/** What a scaling policy is for. */
const target = (name: string, member: string): Column<ScalingPolicy> => ({
  name,
  type: 'text',
  valueOf: ({ Target }) => storedText(Target?.[member] ?? ''),
});
/** The namespace of the workloads that have a policy. */
const jobNamespace: Column<AclPolicy> = {
  name: 'job_namespace',
  type: 'text',
  valueOf: ({ JobACL }) => storedText(JobACL?.Namespace ?? ''),
};
/** The one key of a table with one row. */
const singleton = <Row>(): Column<Row> => ({ name: 'id', type: 'text', valueOf: () => SINGLETON_KEY });

const indexes = <Row extends { CreateIndex: number; ModifyIndex: number }>(): Column<Row>[] => [
  bigint<Row>('create_index', 'CreateIndex'),
  bigint<Row>('modify_index', 'ModifyIndex'),
];

const JOB_ID = ['namespace', 'id'];
const JOB_VERSION = ['namespace', 'job_id', 'version'];
const BY_CREATION = ['create_index', 'id'];

export const TABLE_LAYOUTS: TableLayouts = {
  jobs: {
    columns: [
      text('namespace', 'Namespace'),
      text('id', 'ID'),
      text('parent_id', 'ParentID'),
      text('type', 'Type'),
      text('status', 'Status'),
      text('node_pool', 'NodePool'),
      boolean('stop', 'Stop'),
      integer('priority', 'Priority'),
      bigint('version', 'Version'),
      bigint('job_modify_index', 'JobModifyIndex'),
      ...indexes(),
    ],
    primaryKey: JOB_ID,
    insertionOrder: ['create_index', 'namespace', 'id'],
  },
  job_version: {
    columns: [
      text('namespace', 'Namespace'),
      text('job_id', 'ID'),
      bigint('version', 'Version'),
      bigint('job_modify_index', 'JobModifyIndex'),
      ...indexes(),
    ],
    primaryKey: JOB_VERSION,
    insertionOrder: ['job_modify_index', 'namespace', 'job_id', 'version'],
  },
  job_submission: {
    columns: [
      text('namespace', 'Namespace'),
      text('job_id', 'JobID'),
      bigint('version', 'Version'),
      bigint('job_modify_index', 'JobModifyIndex'),
    ],
    primaryKey: JOB_VERSION,
    insertionOrder: ['job_modify_index', 'namespace', 'job_id', 'version'],
  },
  periodic_launch: {
    columns: [text('namespace', 'Namespace'), text('id', 'ID'), ...indexes()],
    primaryKey: JOB_ID,
    insertionOrder: ['create_index', 'namespace', 'id'],
  },
  scaling_event: {
    columns: [text('namespace', 'Namespace'), text('job_id', 'JobID'), ...indexes()],
    primaryKey: ['namespace', 'job_id'],
    insertionOrder: ['create_index', 'namespace', 'job_id'],
  },
  scaling_policy: {
    columns: [
      text('id', 'ID'),
      target('namespace', 'Namespace'),
      target('job_id', 'Job'),
      text('type', 'Type'),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  job_summary: {
    columns: [text('namespace', 'Namespace'), text('job_id', 'JobID'), ...indexes()],
    primaryKey: ['namespace', 'job_id'],
    insertionOrder: ['create_index', 'namespace', 'job_id'],
  },
  evals: {
    columns: [
      text('id', 'ID'),
      text('namespace', 'Namespace'),
      text('job_id', 'JobID'),
      text('node_id', 'NodeID'),
      text('deployment_id', 'DeploymentID'),
      text('type', 'Type'),
      text('status', 'Status'),
      text('triggered_by', 'TriggeredBy'),
      integer('priority', 'Priority'),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  allocs: {
    columns: [
      text('id', 'ID'),
      text('namespace', 'Namespace'),
      text('job_id', 'JobID'),
      text('task_group', 'TaskGroup'),
      text('node_id', 'NodeID'),
      text('eval_id', 'EvalID'),
      text('deployment_id', 'DeploymentID'),
      text('desired_status', 'DesiredStatus'),
      text('client_status', 'ClientStatus'),
      { name: 'job_key', type: 'text', valueOf: allocJobKey },
      bigint('alloc_modify_index', 'AllocModifyIndex'),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
    bodyOf: (alloc) => ({ ...alloc, Job: null }),
  },
  deployment: {
    columns: [
      text('id', 'ID'),
      text('namespace', 'Namespace'),
      text('job_id', 'JobID'),
      text('status', 'Status'),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  nodes: {
    columns: [
      text('id', 'ID'),
      text('name', 'Name'),
      text('datacenter', 'Datacenter'),
      text('node_class', 'NodeClass'),
      text('node_pool', 'NodePool'),
      text('status', 'Status'),
      text('scheduling_eligibility', 'SchedulingEligibility'),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  node_pools: {
    columns: [text('name', 'Name'), ...indexes()],
    primaryKey: ['name'],
    insertionOrder: ['create_index', 'name'],
  },
  namespaces: {
    columns: [text('name', 'Name'), ...indexes()],
    primaryKey: ['name'],
    insertionOrder: ['create_index', 'name'],
  },
  service_registrations: {
    columns: [
      text('namespace', 'Namespace'),
      text('id', 'ID'),
      text('service_name', 'ServiceName'),
      text('job_id', 'JobID'),
      text('alloc_id', 'AllocID'),
      text('node_id', 'NodeID'),
      ...indexes(),
    ],
    primaryKey: ['namespace', 'id'],
    insertionOrder: ['create_index', 'namespace', 'id'],
  },
  csi_volumes: {
    columns: [text('namespace', 'Namespace'), text('id', 'ID'), text('plugin_id', 'PluginID'), ...indexes()],
    primaryKey: ['namespace', 'id'],
    insertionOrder: ['create_index', 'namespace', 'id'],
  },
  csi_plugins: {
    columns: [text('id', 'ID'), ...indexes()],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  host_volumes: {
    columns: [
      text('namespace', 'Namespace'),
      text('id', 'ID'),
      text('name', 'Name'),
      text('node_id', 'NodeID'),
      text('node_pool', 'NodePool'),
      ...indexes(),
    ],
    primaryKey: ['namespace', 'id'],
    insertionOrder: ['create_index', 'namespace', 'id'],
  },
  task_volume: {
    columns: [
      text('id', 'ID'),
      text('namespace', 'Namespace'),
      text('job_id', 'JobID'),
      text('task_group_name', 'TaskGroupName'),
      text('volume_name', 'VolumeName'),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  scheduler_config: {
    columns: [singleton(), ...indexes()],
    primaryKey: ['id'],
    insertionOrder: ['id'],
  },
  cluster_meta: {
    columns: [singleton(), bigint('modify_index', 'ModifyIndex')],
    primaryKey: ['id'],
    insertionOrder: ['id'],
  },
  leases: {
    columns: [
      text('role', 'Role'),
      bigint('epoch', 'Epoch'),
      text('holder', 'Holder'),
      bigint('modify_index', 'ModifyIndex'),
    ],
    primaryKey: ['role'],
    insertionOrder: ['role'],
  },
  acl_policy: {
    columns: [text('name', 'Name'), jobNamespace, ...indexes()],
    primaryKey: ['name'],
    insertionOrder: ['create_index', 'name'],
  },
  acl_token: {
    columns: [
      text('accessor_id', 'AccessorID'),
      text('secret_hash', 'SecretHash'),
      text('type', 'Type'),
      boolean('global', 'Global'),
      ...indexes(),
    ],
    primaryKey: ['accessor_id'],
    insertionOrder: ['create_index', 'accessor_id'],
  },
  acl_token_bootstrap: {
    columns: [singleton(), bigint('modify_index', 'ModifyIndex')],
    primaryKey: ['id'],
    insertionOrder: ['id'],
  },
  acl_roles: {
    columns: [text('id', 'ID'), text('name', 'Name'), ...indexes()],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  acl_auth_methods: {
    columns: [text('name', 'Name'), boolean('is_default', 'Default'), ...indexes()],
    primaryKey: ['name'],
    insertionOrder: ['create_index', 'name'],
  },
  variables: {
    columns: [text('namespace', 'Namespace'), text('path', 'Path'), text('key_id', 'KeyID'), ...indexes()],
    primaryKey: ['namespace', 'path'],
    insertionOrder: ['create_index', 'namespace', 'path'],
  },
  acl_binding_rules: {
    columns: [text('id', 'ID'), text('auth_method', 'AuthMethod'), ...indexes()],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  node_introductions: {
    columns: [text('token_id', 'TokenID'), ...indexes()],
    primaryKey: ['token_id'],
    insertionOrder: ['create_index', 'token_id'],
  },
  root_keys: {
    columns: [text('key_id', 'KeyID'), text('state', 'State'), bigint('create_time', 'CreateTime'), ...indexes()],
    primaryKey: ['key_id'],
    insertionOrder: ['create_index', 'key_id'],
  },
  one_time_token: {
    columns: [text('accessor_id', 'AccessorID'), text('secret_hash', 'OneTimeSecretHash'), ...indexes()],
    primaryKey: ['accessor_id'],
    insertionOrder: ['create_index', 'accessor_id'],
  },
};
