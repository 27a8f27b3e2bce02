import {
  isActiveDeployment,
  isTerminalAllocation,
  isTerminalEvaluation,
  type AclPolicy,
  type AclRole,
  type AclToken,
  type Allocation,
  type AuthMethod,
  type BindingRule,
  type CSIPlugin,
  type CSIVolume,
  type Deployment,
  type Evaluation,
  type HostVolume,
  type Job,
  type JobScalingEvents,
  type JobSubmission,
  type JobSummary,
  type Namespace,
  type Node,
  type NodeIntroduction,
  type NodePool,
  type OneTimeToken,
  type PeriodicLaunch,
  type RootKey,
  type ScalingPolicy,
  type SchedulerConfiguration,
  type ServiceRegistration,
  type TaskGroupHostVolumeClaim,
  type Variable,
} from '@waybill/model';
import { type MadeIndexValue, Table } from './table.js';
import type { Role } from '../log/role.js';

/** The stored epoch of a role (ST-15). */
export interface LeaseRow {
  readonly Role: Role;
  readonly Epoch: number;
  readonly Holder: string;
  readonly ModifyIndex: number;
}

export interface ClusterMetaRow {
  readonly ClusterID: string;
  readonly CreateTime: number;
  readonly ModifyIndex: number;
  /** Index of the last restore (EV-75); absent: there was none. */
  readonly RestoredIndex?: number;
  /** The log and the events before this index are to be removed; absent: nobody asked for it. */
  readonly ErasedBefore?: number;
}

/** Index of the last bootstrap of access control, which a reset must name (OP-145). */
export interface AclBootstrapRow {
  readonly ModifyIndex: number;
}

/** Key of tables with namespaces: `<namespace>/<id>`. A namespace contains no slash, so the first slash separates. */
export const namespacedKey = (namespace: string, id: string): string => `${namespace}/${id}`;
export const versionKey = (namespace: string, id: string, version: number): string => `${namespace}/${id}@${version}`;

/**
 * Key by which a dispatched job is found from its parent and token (ST-51). The token may contain any character, so it
 * comes last.
 */
export const dispatchKey = (job: Pick<Job, 'Namespace' | 'ParentID' | 'DispatchIdempotencyToken'>): string =>
  JSON.stringify([job.Namespace, job.ParentID, job.DispatchIdempotencyToken]);

/** Key of the row of a single-row table. */
export const SINGLETON_KEY = 'singleton';

/** Row type of every table, by the table's name (docs/reference/state-and-events.md 1.2). */
export interface TableRows {
  jobs: Job;
  job_version: Job;
  job_submission: JobSubmission;
  job_summary: JobSummary;
  periodic_launch: PeriodicLaunch;
  scaling_event: JobScalingEvents;
  scaling_policy: ScalingPolicy;
  evals: Evaluation;
  allocs: Allocation;
  deployment: Deployment;
  nodes: Node;
  node_pools: NodePool;
  namespaces: Namespace;
  service_registrations: ServiceRegistration;
  csi_volumes: CSIVolume;
  csi_plugins: CSIPlugin;
  host_volumes: HostVolume;
  task_volume: TaskGroupHostVolumeClaim;
  scheduler_config: SchedulerConfiguration;
  cluster_meta: ClusterMetaRow;
  leases: LeaseRow;
  acl_policy: AclPolicy;
  acl_token: AclToken;
  acl_token_bootstrap: AclBootstrapRow;
  acl_roles: AclRole;
  one_time_token: OneTimeToken;
  acl_auth_methods: AuthMethod;
  acl_binding_rules: BindingRule;
  root_keys: RootKey;
  node_introductions: NodeIntroduction;
  variables: Variable;
}

export type TableName = keyof TableRows;

/** The whole memory of the state machine. Read freely and synchronously; only `StateMachine.apply` writes. */
export type Tables = { readonly [N in TableName]: Table<TableRows[N]> };

export const TABLE_NAMES: readonly TableName[] = [
  'jobs',
  'job_version',
  'job_submission',
  'job_summary',
  'periodic_launch',
  'scaling_event',
  'scaling_policy',
  'evals',
  'allocs',
  'deployment',
  'nodes',
  'node_pools',
  'namespaces',
  'service_registrations',
  'csi_volumes',
  'csi_plugins',
  'host_volumes',
  'task_volume',
  'scheduler_config',
  'cluster_meta',
  'leases',
  'acl_policy',
  'acl_token',
  'acl_token_bootstrap',
  'acl_roles',
  'one_time_token',
  'acl_auth_methods',
  'acl_binding_rules',
  'root_keys',
  'node_introductions',
  'variables',
];

interface OfJob {
  readonly Namespace: string;
  readonly JobID: string;
}
const jobKeyOf = (row: OfJob): string => namespacedKey(row.Namespace, row.JobID);

/** Index of rows by their job, with the rows for which `counts` is true. */
function byJob<Row extends OfJob>(counts: (row: Row) => boolean): MadeIndexValue<Row> {
  return {
    of: (row) => (counts(row) ? jobKeyOf(row) : undefined),
    keeps: (before, after) =>
      before.JobID === after.JobID && before.Namespace === after.Namespace && counts(before) === counts(after),
  };
}
const always = (): boolean => true;

/**
 * Creates empty tables. Beside look-ups, three indexes count what a job's status depends on without a scan (ST-70):
 * `allocs.live`, `evals.open` and `deployment.active`, each by job. They are derived from the rows and are no state of
 * their own.
 */
export function createTables(): Tables {
  return {
    jobs: new Table<TableRows['jobs']>('jobs', (j) => namespacedKey(j.Namespace, j.ID), {
      parent: (j) => (j.ParentID ? namespacedKey(j.Namespace, j.ParentID) : undefined),
      namespace: (j) => j.Namespace,
      pool: (j) => j.NodePool,
      dispatch: (j) => (j.DispatchIdempotencyToken ? dispatchKey(j) : undefined),
    }),
    job_version: new Table<TableRows['job_version']>('job_version', (j) => versionKey(j.Namespace, j.ID, j.Version), {
      job: { of: (j) => namespacedKey(j.Namespace, j.ID), keeps: always }, // part of its key
    }),
    job_submission: new Table<TableRows['job_submission']>(
      'job_submission',
      (s) => versionKey(s.Namespace, s.JobID, s.Version),
      { job: byJob(always) },
    ),
    job_summary: new Table<TableRows['job_summary']>('job_summary', jobKeyOf),
    periodic_launch: new Table<TableRows['periodic_launch']>('periodic_launch', (l) =>
      namespacedKey(l.Namespace, l.ID),
    ),
    scaling_event: new Table<TableRows['scaling_event']>('scaling_event', jobKeyOf),
    scaling_policy: new Table<TableRows['scaling_policy']>('scaling_policy', (p) => p.ID, {
      job: (p) => namespacedKey(p.Target?.['Namespace'] ?? '', p.Target?.['Job'] ?? ''),
    }),
    evals: new Table<TableRows['evals']>('evals', (e) => e.ID, {
      job: byJob(always),
      open: byJob((e) => !isTerminalEvaluation(e)),
      status: (e) => e.Status,
      deployment: (e) => e.DeploymentID || undefined,
    }),
    allocs: new Table<TableRows['allocs']>('allocs', (a) => a.ID, {
      job: byJob(always),
      node: (a) => a.NodeID || undefined,
      eval: (a) => a.EvalID || undefined,
      deployment: (a) => a.DeploymentID || undefined,
      live: byJob((a) => !isTerminalAllocation(a)),
      followup: (a) => a.FollowupEvalID || undefined,
    }),
    deployment: new Table<TableRows['deployment']>('deployment', (d) => d.ID, {
      job: byJob(always),
      active: byJob<TableRows['deployment']>(isActiveDeployment),
    }),
    nodes: new Table<TableRows['nodes']>('nodes', (n) => n.ID, {
      secret: (n) => n.SecretID || undefined,
      class: (n) => n.ComputedClass || undefined,
      pool: (n) => n.NodePool,
    }),
    node_pools: new Table<TableRows['node_pools']>('node_pools', (p) => p.Name),
    namespaces: new Table<TableRows['namespaces']>('namespaces', (n) => n.Name),
    service_registrations: new Table<TableRows['service_registrations']>(
      'service_registrations',
      (s) => namespacedKey(s.Namespace, s.ID),
      {
        alloc: (s) => s.AllocID,
        node: (s) => s.NodeID,
        namespace: (s) => s.Namespace,
        name: (s) => namespacedKey(s.Namespace, s.ServiceName),
      },
    ),
    csi_volumes: new Table<TableRows['csi_volumes']>('csi_volumes', (v) => namespacedKey(v.Namespace, v.ID), {
      namespace: (v) => v.Namespace,
      plugin: (v) => v.PluginID,
    }),
    csi_plugins: new Table<TableRows['csi_plugins']>('csi_plugins', (p) => p.ID),
    host_volumes: new Table<TableRows['host_volumes']>('host_volumes', (v) => namespacedKey(v.Namespace, v.ID), {
      namespace: (v) => v.Namespace,
      node: (v) => v.NodeID,
    }),
    task_volume: new Table<TableRows['task_volume']>('task_volume', (c) => c.ID, {
      job: byJob(always),
      volume: (c) => c.VolumeID,
    }),
    scheduler_config: new Table<TableRows['scheduler_config']>('scheduler_config', () => SINGLETON_KEY),
    cluster_meta: new Table<TableRows['cluster_meta']>('cluster_meta', () => SINGLETON_KEY),
    leases: new Table<TableRows['leases']>('leases', (l) => l.Role),
    acl_policy: new Table<TableRows['acl_policy']>('acl_policy', (p) => p.Name),
    acl_token: new Table<TableRows['acl_token']>('acl_token', (t) => t.AccessorID, { secret: (t) => t.SecretHash }),
    acl_token_bootstrap: new Table<TableRows['acl_token_bootstrap']>('acl_token_bootstrap', () => SINGLETON_KEY),
    acl_roles: new Table<TableRows['acl_roles']>('acl_roles', (r) => r.ID, { name: (r) => r.Name }),
    one_time_token: new Table<TableRows['one_time_token']>('one_time_token', (t) => t.AccessorID, {
      secret: (t) => t.OneTimeSecretHash,
    }),
    acl_auth_methods: new Table<TableRows['acl_auth_methods']>('acl_auth_methods', (m) => m.Name, {
      default: (m) => (m.Default ? SINGLETON_KEY : undefined),
    }),
    acl_binding_rules: new Table<TableRows['acl_binding_rules']>('acl_binding_rules', (r) => r.ID, {
      method: (r) => r.AuthMethod,
    }),
    root_keys: new Table<TableRows['root_keys']>('root_keys', (k) => k.KeyID, { state: (k) => k.State }),
    node_introductions: new Table<TableRows['node_introductions']>('node_introductions', (i) => i.TokenID),
    variables: new Table<TableRows['variables']>('variables', (v) => namespacedKey(v.Namespace, v.Path), {
      namespace: (v) => v.Namespace,
      /** What a root key is in use by (OP-214). */
      rootKey: (v) => v.KeyID,
      locked: (v) => (v.Lock ? SINGLETON_KEY : undefined),
    }),
  };
}

/** Index of the last restore (EV-75), 0 if there was none. */
export const restoredIndexOf = ({ cluster_meta }: Pick<Tables, 'cluster_meta'>): number =>
  cluster_meta.get(SINGLETON_KEY)?.RestoredIndex ?? 0;
