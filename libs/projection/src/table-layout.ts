import type { TableName, TableRows } from '@waybill/state';
import { SINGLETON_KEY } from '@waybill/state';

export type ColumnType = 'text' | 'bigint' | 'integer' | 'boolean';

/** One column beside `body`: a key, or what lists filter and order by. */
export interface Column<Row> {
  readonly name: string;
  readonly type: ColumnType;
  readonly of: (row: Row) => string | number | boolean;
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
}

export type TableLayouts = { readonly [N in TableName]: TableLayout<TableRows[N]> };

const text = <Row>(name: string, of: (row: Row) => string): Column<Row> => ({ name, type: 'text', of });
const bigint = <Row>(name: string, of: (row: Row) => number): Column<Row> => ({ name, type: 'bigint', of });
const integer = <Row>(name: string, of: (row: Row) => number): Column<Row> => ({ name, type: 'integer', of });

const indexes = <Row extends { CreateIndex: number; ModifyIndex: number }>(): Column<Row>[] => [
  bigint('create_index', (row) => row.CreateIndex),
  bigint('modify_index', (row) => row.ModifyIndex),
];

const JOB_ID = ['namespace', 'id'];
const JOB_VERSION = ['namespace', 'job_id', 'version'];
const BY_CREATION = ['create_index', 'id'];

export const TABLE_LAYOUTS: TableLayouts = {
  jobs: {
    columns: [
      text('namespace', (j) => j.Namespace),
      text('id', (j) => j.ID),
      text('parent_id', (j) => j.ParentID),
      text('type', (j) => j.Type),
      text('status', (j) => j.Status),
      text('node_pool', (j) => j.NodePool),
      { name: 'stop', type: 'boolean', of: (j) => j.Stop },
      integer('priority', (j) => j.Priority),
      bigint('version', (j) => j.Version),
      bigint('job_modify_index', (j) => j.JobModifyIndex),
      ...indexes(),
    ],
    primaryKey: JOB_ID,
    insertionOrder: ['create_index', 'namespace', 'id'],
  },
  job_version: {
    columns: [
      text('namespace', (j) => j.Namespace),
      text('job_id', (j) => j.ID),
      bigint('version', (j) => j.Version),
      bigint('job_modify_index', (j) => j.JobModifyIndex),
      ...indexes(),
    ],
    primaryKey: JOB_VERSION,
    insertionOrder: ['job_modify_index', 'namespace', 'job_id', 'version'],
  },
  job_submission: {
    columns: [
      text('namespace', (s) => s.Namespace),
      text('job_id', (s) => s.JobID),
      bigint('version', (s) => s.Version),
      bigint('job_modify_index', (s) => s.JobModifyIndex),
    ],
    primaryKey: JOB_VERSION,
    insertionOrder: ['job_modify_index', 'namespace', 'job_id', 'version'],
  },
  job_summary: {
    columns: [text('namespace', (s) => s.Namespace), text('job_id', (s) => s.JobID), ...indexes()],
    primaryKey: ['namespace', 'job_id'],
    insertionOrder: ['create_index', 'namespace', 'job_id'],
  },
  evals: {
    columns: [
      text('id', (e) => e.ID),
      text('namespace', (e) => e.Namespace),
      text('job_id', (e) => e.JobID),
      text('node_id', (e) => e.NodeID),
      text('deployment_id', (e) => e.DeploymentID),
      text('type', (e) => e.Type),
      text('status', (e) => e.Status),
      text('triggered_by', (e) => e.TriggeredBy),
      integer('priority', (e) => e.Priority),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  allocs: {
    columns: [
      text('id', (a) => a.ID),
      text('namespace', (a) => a.Namespace),
      text('job_id', (a) => a.JobID),
      text('task_group', (a) => a.TaskGroup),
      text('node_id', (a) => a.NodeID),
      text('eval_id', (a) => a.EvalID),
      text('deployment_id', (a) => a.DeploymentID),
      text('desired_status', (a) => a.DesiredStatus),
      text('client_status', (a) => a.ClientStatus),
      bigint('alloc_modify_index', (a) => a.AllocModifyIndex),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  deployment: {
    columns: [
      text('id', (d) => d.ID),
      text('namespace', (d) => d.Namespace),
      text('job_id', (d) => d.JobID),
      text('status', (d) => d.Status),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  nodes: {
    columns: [
      text('id', (n) => n.ID),
      text('name', (n) => n.Name),
      text('datacenter', (n) => n.Datacenter),
      text('node_class', (n) => n.NodeClass),
      text('node_pool', (n) => n.NodePool),
      text('status', (n) => n.Status),
      text('scheduling_eligibility', (n) => n.SchedulingEligibility),
      ...indexes(),
    ],
    primaryKey: ['id'],
    insertionOrder: BY_CREATION,
  },
  node_pools: {
    columns: [text('name', (p) => p.Name), ...indexes()],
    primaryKey: ['name'],
    insertionOrder: ['create_index', 'name'],
  },
  namespaces: {
    columns: [text('name', (n) => n.Name), ...indexes()],
    primaryKey: ['name'],
    insertionOrder: ['create_index', 'name'],
  },
  service_registrations: {
    columns: [
      text('namespace', (s) => s.Namespace),
      text('id', (s) => s.ID),
      text('service_name', (s) => s.ServiceName),
      text('job_id', (s) => s.JobID),
      text('alloc_id', (s) => s.AllocID),
      text('node_id', (s) => s.NodeID),
      ...indexes(),
    ],
    primaryKey: ['namespace', 'id'],
    insertionOrder: ['create_index', 'namespace', 'id'],
  },
  scheduler_config: {
    columns: [text('id', () => SINGLETON_KEY), ...indexes()],
    primaryKey: ['id'],
    insertionOrder: ['id'],
  },
  cluster_meta: {
    columns: [text('id', () => SINGLETON_KEY), bigint('modify_index', (m) => m.ModifyIndex)],
    primaryKey: ['id'],
    insertionOrder: ['id'],
  },
  leases: {
    columns: [
      text('role', (l) => l.Role),
      bigint('epoch', (l) => l.Epoch),
      text('holder', (l) => l.Holder),
      bigint('modify_index', (l) => l.ModifyIndex),
    ],
    primaryKey: ['role'],
    insertionOrder: ['role'],
  },
};

/** A row as it is stored: its columns, and the row itself as `body`. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** The stored form of a row. O(columns). */
export function storedRow<N extends TableName>(table: N, row: TableRows[N]): StoredRow {
  const stored: Record<string, unknown> = {};
  for (const column of TABLE_LAYOUTS[table].columns) stored[column.name] = column.of(row);
  stored['body'] = row;
  return stored;
}

/** The primary key alone. */
export function storedKey<N extends TableName>(table: N, row: TableRows[N]): StoredRow {
  const { columns, primaryKey } = TABLE_LAYOUTS[table];
  const key: Record<string, unknown> = {};
  for (const column of columns) if (primaryKey.includes(column.name)) key[column.name] = column.of(row);
  return key;
}
