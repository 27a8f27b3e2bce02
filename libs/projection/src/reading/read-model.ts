import type {
  Allocation,
  Deployment,
  Evaluation,
  Job,
  JobStatus,
  JobSubmission,
  JobSummary,
  Namespace,
  Node,
  NodePool,
  SchedulerConfiguration,
  ServiceRegistration,
} from '@waybill/model';
import { type LogMark, SINGLETON_KEY, type TableName, type TableRows } from '@waybill/state';
import type { Pool } from 'pg';
import { columnTypes } from '../database/column-types.js';
import {
  type JobStatusOptions,
  jobStatusQuery,
  type JobStatusRaw,
  jobWithStatus,
  type JobWithStatus,
} from './job-statuses.js';
import { Conditions, findStatement, type Namespaces } from './list-query.js';
import { byCreation, byId, byName, byNamespaceAndId, type ListOrder } from './page.js';
import { appliedMark } from './applied-mark.js';
import { type RecordedVerdict, recordedVerdict } from './recorded-verdict.js';
import {
  type Found,
  type Listed,
  type ListedRaw,
  listOf,
  type ListOptions,
  RowReads,
  type KeptRows,
} from './row-reads.js';
import { READ_APPLIED } from '../writing/statements.js';
import { SetAsideRows } from '../set-aside/retry-set-aside.js';
import { AccessReads } from './access-reads.js';
import { KeyringReads } from './keyring-reads.js';
import { ScalingReads } from './scaling-reads.js';
import { VariableReads } from './variable-reads.js';
import { VolumeReads } from './volume-reads.js';

/** How far PostgreSQL is at one moment. */
export interface ReadPoint {
  /** Index of the last projected transaction. */
  readonly applied: number;
  /** Index of the last change of each table; those that were never written to are missing. */
  readonly tableIndexes: Readonly<Partial<Record<TableName, number>>>;
}

export interface NamespacedListOptions<Row> extends ListOptions<Row> {
  readonly namespaces: Namespaces;
}

/** A job of a list, with its summary. */
export interface JobWithSummary {
  readonly job: Job;
  readonly summary: JobSummary | undefined;
}

/** How many jobs have each status. */
export type JobStatusCounts = Readonly<Record<JobStatus, number>>;

export interface JobListOptions extends NamespacedListOptions<JobWithSummary> {
  /** Only jobs of this pool. */
  readonly pool?: string | undefined;
}

export interface NodeListOptions extends ListOptions<Node> {
  /** Only nodes of this pool. */
  readonly pool?: string | undefined;
}

export interface JobAllocationsOptions {
  /** Also those of an earlier job of the same id, which was purged. */
  readonly all?: boolean;
}

export interface EvaluationListOptions extends NamespacedListOptions<Evaluation> {
  readonly jobId?: string | undefined;
  readonly status?: string | undefined;
}

export interface ServiceListOptions extends NamespacedListOptions<ServiceRegistration> {
  readonly serviceName?: string | undefined;
  readonly jobId?: string | undefined;
  readonly allocId?: string | undefined;
}

type JobRow = ListedRaw & { readonly body: Job; readonly summary: JobSummary | null };

const FIND = {
  job: findStatement('jobs', ['namespace', 'id']),
  jobSummary: findStatement('job_summary', ['namespace', 'job_id']),
  jobSubmission: findStatement('job_submission', ['namespace', 'job_id', 'version']),
  evaluation: findStatement('evals', ['id']),
  deployment: findStatement('deployment', ['id']),
  node: findStatement('nodes', ['id']),
  nodePool: findStatement('node_pools', ['name']),
  namespace: findStatement('namespaces', ['name']),
  schedulerConfiguration: findStatement('scheduler_config', ['id']),
  clusterMeta: findStatement('cluster_meta', ['id']),
} as const;

/**
 * Reads of the projected state. Stateless. Rows and index of an answer come from one statement, or from one
 * repeatable-read transaction, so they are of the same index (ST-140); the objects are the state's rows as they are,
 * secrets included: encode before handing them out.
 *
 * A row that PostgreSQL refused to store is missing in lists, and asking for it alone throws SetAsideError.
 *
 * Cost: what the answer holds; a list with a filter also what the filter rejects. Errors of the database go through.
 */
export class ReadModel {
  /** Tokens, policies and roles. */
  readonly access: AccessReads;
  readonly keyring: KeyringReads;
  readonly volumes: VolumeReads;
  readonly scaling: ScalingReads;
  readonly variables: VariableReads;
  /** What PostgreSQL refused to store where it belongs. */
  readonly setAside: SetAsideRows;
  private readonly rows: RowReads;

  constructor(private readonly pool: Pool) {
    this.rows = new RowReads(pool);
    this.access = new AccessReads(this.rows, pool);
    this.keyring = new KeyringReads(this.rows);
    this.volumes = new VolumeReads(this.rows);
    this.scaling = new ScalingReads(this.rows);
    this.variables = new VariableReads(this.rows);
    this.setAside = new SetAsideRows(pool);
  }

  // jobs

  job(namespace: string, id: string): Promise<Found<Job>> {
    return this.rows.find(FIND.job, [namespace, id]);
  }

  /** The job that a write is decided on, also if PostgreSQL refused to store it. */
  decidedOnJob(namespace: string, id: string): Promise<Job | undefined> {
    return this.rows.findEvenAside(FIND.job, [namespace, id]);
  }

  jobSummary(namespace: string, id: string): Promise<Found<JobSummary>> {
    return this.rows.find(FIND.jobSummary, [namespace, id]);
  }

  /** The text a version was submitted as. */
  async jobSubmission(namespace: string, id: string, version: number): Promise<Found<JobSubmission>> {
    return this.rows.findAs(
      FIND.jobSubmission,
      [namespace, id, version],
      (raw: { body: JobSubmission }) => raw.body,
      (row) => row.JobModifyIndex,
    );
  }

  /** Every kept version, newest first. Index: the highest of the versions. */
  async jobVersions(namespace: string, id: string): Promise<Listed<Job>> {
    const order: ListOrder<Job> = { columns: ['version'], tokenOf: () => '', parse: () => undefined };
    const query = listOf('job_version', ofJob(namespace, id), order, { reverse: true });
    const listed = await this.rows.list(query);
    return { ...listed, index: highest(listed.rows) || listed.index };
  }

  /** By namespace and id. `prefix` is one of the job's id. */
  jobs(options: JobListOptions): Promise<Listed<JobWithSummary>> {
    const conditions = (): Conditions => {
      const chosen = new Conditions().in(options.namespaces).startsWith('id', options.prefix ?? '');
      return options.pool === undefined ? chosen : chosen.equal('node_pool', options.pool);
    };
    return this.rows.listAs(
      {
        indexOf: ['jobs', 'job_summary'],
        select: 'r.body, s.body as summary',
        from: 'jobs r left join job_summary s on s.namespace = r.namespace and s.job_id = r.id',
        conditions,
        order: byNamespaceAndId((row: JobWithSummary) => row.job),
        page: options,
      },
      (row: JobRow) => ({ job: row.body, summary: row.summary ?? undefined }),
      options.keep,
    );
  }

  /** Newest change first. Index: the table's. */
  jobStatuses(options: JobStatusOptions): Promise<Listed<JobWithStatus>> {
    return this.rows.listAs<JobWithStatus, JobStatusRaw>(jobStatusQuery(options), jobWithStatus, options.keep);
  }

  /** Of all namespaces; one pass over the table. */
  async jobStatusCounts(): Promise<JobStatusCounts> {
    const { rows } = await this.pool.query<{ status: JobStatus; jobs: number }>({
      name: 'job_status_counts',
      text: 'select status, count(*)::int as jobs from jobs group by status',
    });
    const counted = Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
    return { pending: 0, running: 0, dead: 0, ...counted };
  }

  jobAllocations(namespace: string, id: string, options: JobAllocationsOptions = {}): Promise<Listed<Allocation>> {
    const conditions = (): Conditions => {
      const chosen = ofJob(namespace, id)();
      if (options.all) return chosen;
      // $1 and $2 are the namespace and the id, see ofJob
      return chosen.where(
        `r.create_index >= coalesce((select create_index from jobs where namespace = $1 and id = $2), 0)`,
      );
    };
    return this.rows.allocations(conditions);
  }

  jobEvaluations(namespace: string, id: string): Promise<Listed<Evaluation>> {
    return this.rows.list(listOf('evals', ofJob(namespace, id), byCreation<Evaluation>()));
  }

  jobDeployments(namespace: string, id: string): Promise<Listed<Deployment>> {
    return this.rows.list(listOf('deployment', ofJob(namespace, id), byCreation<Deployment>()));
  }

  /** The newest deployment of the job. Index: the table's. */
  async jobDeployment(namespace: string, id: string): Promise<Found<Deployment>> {
    const page = { reverse: true, perPage: 1 };
    const order = byCreation<Deployment>();
    const listed = await this.rows.list(listOf('deployment', ofJob(namespace, id), order, page));
    return { index: listed.index, row: listed.rows[0] };
  }

  // evaluations

  evaluation(id: string): Promise<Found<Evaluation>> {
    return this.rows.find(FIND.evaluation, [id]);
  }

  evaluations(options: EvaluationListOptions): Promise<Listed<Evaluation>> {
    const { jobId, status } = options;
    return this.ofUuids('evals', options, (conditions) => {
      if (jobId !== undefined) conditions.equal('job_id', jobId);
      if (status !== undefined) conditions.equal('status', status);
    });
  }

  evalAllocations(evalId: string): Promise<Listed<Allocation>> {
    return this.allocationsBy('eval_id', evalId);
  }

  // allocations

  allocation(id: string): Promise<Found<Allocation>> {
    return this.rows.allocation(id);
  }

  allocations(options: NamespacedListOptions<Allocation>): Promise<Listed<Allocation>> {
    const prefix = (options.prefix ?? '').toLowerCase();
    const conditions = (): Conditions => new Conditions().in(options.namespaces).startsWith('id', prefix);
    const order = prefix === '' ? byCreation<Allocation>() : byId<Allocation>();
    return this.rows.allocations(conditions, order, options, options.keep);
  }

  /** The same list, of what somebody makes of each allocation and keeps. */
  allocationsKept<Made>(
    options: Omit<NamespacedListOptions<Allocation>, 'keep'>,
    kept: KeptRows<Allocation, Made>,
  ): Promise<Listed<Made>> {
    const prefix = (options.prefix ?? '').toLowerCase();
    const conditions = (): Conditions => new Conditions().in(options.namespaces).startsWith('id', prefix);
    return this.rows.allocationsKept(conditions, prefix === '' ? byCreation() : byId(), options, kept);
  }

  /** Those of these allocations that still exist, in no order that matters. */
  async allocationsNamed(ids: readonly string[]): Promise<readonly Allocation[]> {
    if (ids.length === 0) return [];
    const conditions = (): Conditions => {
      const chosen = new Conditions();
      return chosen.where(`r.id = any(${chosen.value(ids)})`);
    };
    return (await this.rows.allocations(conditions)).rows;
  }

  // deployments

  deployment(id: string): Promise<Found<Deployment>> {
    return this.rows.find(FIND.deployment, [id]);
  }

  deployments(options: NamespacedListOptions<Deployment>): Promise<Listed<Deployment>> {
    return this.ofUuids('deployment', options);
  }

  deploymentAllocations(deploymentId: string): Promise<Listed<Allocation>> {
    return this.allocationsBy('deployment_id', deploymentId);
  }

  // nodes

  node(id: string): Promise<Found<Node>> {
    return this.rows.find(FIND.node, [id]);
  }

  nodes(options: NodeListOptions = {}): Promise<Listed<Node>> {
    const conditions = (): Conditions => {
      const chosen = new Conditions().startsWith('id', (options.prefix ?? '').toLowerCase());
      return options.pool === undefined ? chosen : chosen.equal('node_pool', options.pool);
    };
    return this.rows.list(listOf('nodes', conditions, byId<Node>(), options), options.keep);
  }

  /** Index: the highest of the allocations, the table's when there are none. */
  async nodeAllocations(nodeId: string): Promise<Listed<Allocation>> {
    const listed = await this.allocationsBy('node_id', nodeId);
    return { ...listed, index: highest(listed.rows) || listed.index };
  }

  nodePool(name: string): Promise<Found<NodePool>> {
    return this.rows.find(FIND.nodePool, [name]);
  }

  nodePools(options: ListOptions<NodePool> = {}): Promise<Listed<NodePool>> {
    const conditions = (): Conditions => new Conditions().startsWith('name', options.prefix ?? '');
    const query = listOf('node_pools', conditions, byName<NodePool>(), options);
    return this.rows.list(query, options.keep);
  }

  // the rest

  namespace(name: string): Promise<Found<Namespace>> {
    return this.rows.find(FIND.namespace, [name]);
  }

  /** The namespace that a write is decided on, also if PostgreSQL refused to store it. */
  decidedOnNamespace(name: string): Promise<Namespace | undefined> {
    return this.rows.findEvenAside(FIND.namespace, [name]);
  }

  /** The node pool that a write is decided on, also if PostgreSQL refused to store it. */
  decidedOnNodePool(name: string): Promise<NodePool | undefined> {
    return this.rows.findEvenAside(FIND.nodePool, [name]);
  }

  namespaces(options: ListOptions<Namespace> = {}): Promise<Listed<Namespace>> {
    const conditions = (): Conditions => new Conditions().startsWith('name', options.prefix ?? '');
    const query = listOf('namespaces', conditions, byName<Namespace>(), options);
    return this.rows.list(query, options.keep);
  }

  /** Registrations of services, by namespace and id. */
  services(options: ServiceListOptions): Promise<Listed<ServiceRegistration>> {
    const { namespaces, serviceName, jobId, allocId } = options;
    const conditions = (): Conditions => {
      const chosen = new Conditions().in(namespaces);
      if (serviceName !== undefined) chosen.equal('service_name', serviceName);
      if (jobId !== undefined) chosen.equal('job_id', jobId);
      if (allocId !== undefined) chosen.equal('alloc_id', allocId);
      return chosen;
    };
    const order = byNamespaceAndId<ServiceRegistration>((row) => row);
    const query = listOf('service_registrations', conditions, order, options);
    return this.rows.list(query, options.keep);
  }

  schedulerConfiguration(): Promise<Found<SchedulerConfiguration>> {
    return this.rows.find(FIND.schedulerConfiguration, [SINGLETON_KEY]);
  }

  async clusterId(): Promise<string | undefined> {
    const found = await this.rows.find<TableRows['cluster_meta']>(FIND.clusterMeta, [SINGLETON_KEY]);
    return found.row?.ClusterID;
  }

  /** Index of the last restore (EV-75); 0: there was none. */
  async restoredIndex(): Promise<number> {
    const found = await this.rows.find<TableRows['cluster_meta']>(FIND.clusterMeta, [SINGLETON_KEY]);
    return found.row?.RestoredIndex ?? 0;
  }

  /** Who has taken which role, and when; of every role that anybody has ever held. */
  async leases(): Promise<readonly TableRows['leases'][]> {
    const { rows } = await this.pool.query<{ body: TableRows['leases'] }>({
      name: 'leases',
      text: 'select body from leases order by role',
      types: columnTypes,
    });
    return rows.map(({ body }) => body);
  }

  // indexes and verdicts

  /** Highest index of these tables; 0: nothing was ever written to them (API-32). */
  async tableIndex(...tables: TableName[]): Promise<number> {
    const { rows } = await this.pool.query<{ index: number }>({
      name: 'table_index',
      text: 'select coalesce(max(index), 0) as index from table_index where name = any($1)',
      values: [tables],
      types: columnTypes,
    });
    return rows[0]?.index ?? 0;
  }

  /** How far the log has been projected, with the index of every table, in one statement of one row. */
  async readPoint(): Promise<ReadPoint> {
    const { rows } = await this.pool.query<ReadPoint>({
      name: 'read_point',
      text: `
        select applied, (select coalesce(json_object_agg(name, index), '{}') from table_index) as "tableIndexes"
        from projection where id = 1`,
      types: columnTypes,
    });
    return rows[0] ?? { applied: 0, tableIndexes: {} };
  }

  /** How far the log has been projected. */
  async appliedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
    return rows[0]?.applied ?? 0;
  }

  /** The transaction that was projected last, as the log knows it again (ST-1); undefined: there is none. */
  appliedMark(): Promise<LogMark | undefined> {
    return appliedMark(this.pool);
  }

  /** What became of a transaction; undefined: not projected yet, or no longer recorded. */
  txnVerdict(index: number): Promise<RecordedVerdict | undefined> {
    return recordedVerdict(this.pool, index);
  }

  // how

  private allocationsBy(column: string, id: string): Promise<Listed<Allocation>> {
    const conditions = (): Conditions => new Conditions().equal(column, id);
    return this.rows.allocations(conditions);
  }

  /** Objects with uuids: by creation, or by id when searched by its beginning. */
  private ofUuids<Row extends { ID: string; CreateIndex: number }>(
    table: TableName,
    options: NamespacedListOptions<Row>,
    more: (conditions: Conditions) => void = () => {},
  ): Promise<Listed<Row>> {
    const prefix = (options.prefix ?? '').toLowerCase();
    const conditions = (): Conditions => {
      const chosen = new Conditions().in(options.namespaces).startsWith('id', prefix);
      more(chosen);
      return chosen;
    };
    const order = prefix === '' ? byCreation<Row>() : byId<Row>();
    return this.rows.list(listOf(table, conditions, order, options), options.keep);
  }
}

const ofJob =
  (namespace: string, jobId: string): (() => Conditions) =>
  () =>
    new Conditions().equal('namespace', namespace).equal('job_id', jobId);

const highest = (rows: readonly { readonly ModifyIndex: number }[]): number =>
  rows.reduce((index, row) => Math.max(index, row.ModifyIndex), 0);
