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
import { DecisionReads } from './decision-reads.js';
import { KeyringReads } from './keyring-reads.js';
import { ScalingReads } from './scaling-reads.js';
import { VariableReads } from './variable-reads.js';
import { VolumeReads } from './volume-reads.js';

/** Position of PostgreSQL at one moment. */
export interface ReadPoint {
  /** Index of the last projected transaction. */
  readonly applied: number;
  /** Index of the last change of each table. Tables without a change are missing. */
  readonly tableIndexes: Readonly<Partial<Record<TableName, number>>>;
}

export interface NamespacedListOptions<Row> extends ListOptions<Row> {
  readonly namespaces: Namespaces;
}

/** A job in a list, with its summary. */
export interface JobWithSummary {
  readonly job: Job;
  readonly summary: JobSummary | undefined;
}

/** Number of jobs with each status. */
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
  /** Include those of a purged job with the same ID. */
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
 * Reads of the projected state. Stateless. Rows and index of a response come from one statement or one repeatable-read
 * transaction, so they are of the same index (ST-140). The objects are the state's rows with secrets. Encode them
 * before they leave the process.
 *
 * A row that PostgreSQL refused to store is missing in lists, and a read of it alone throws SetAsideError.
 *
 * Cost: the content of the response; for a list with a filter also the rejected rows. Errors of the database are thrown
 * on.
 */
export class ReadModel {
  /** Tokens, policies and roles. */
  readonly access: AccessReads;
  readonly keyring: KeyringReads;
  readonly volumes: VolumeReads;
  readonly scaling: ScalingReads;
  readonly variables: VariableReads;
  /** Rows for decisions about writes. */
  readonly decisions: DecisionReads;
  /** Rows that PostgreSQL refused to store. */
  readonly setAside: SetAsideRows;
  private readonly rows: RowReads;

  constructor(private readonly pool: Pool) {
    this.rows = new RowReads(pool);
    this.access = new AccessReads(this.rows, pool);
    this.keyring = new KeyringReads(this.rows);
    this.volumes = new VolumeReads(this.rows);
    this.scaling = new ScalingReads(this.rows);
    this.variables = new VariableReads(this.rows);
    this.decisions = new DecisionReads(pool);
    this.setAside = new SetAsideRows(pool);
  }

  // jobs

  job(namespace: string, id: string): Promise<Found<Job>> {
    return this.rows.find(FIND.job, [namespace, id]);
  }

  jobSummary(namespace: string, id: string): Promise<Found<JobSummary>> {
    return this.rows.find(FIND.jobSummary, [namespace, id]);
  }

  /** Returns the source text of a version. */
  async jobSubmission(namespace: string, id: string, version: number): Promise<Found<JobSubmission>> {
    return this.rows.findAs(
      FIND.jobSubmission,
      [namespace, id, version],
      (raw: { body: JobSubmission }) => raw.body,
      (row) => row.JobModifyIndex,
    );
  }

  /** Lists all retained versions, newest first. Index: the highest of the versions. */
  async jobVersions(namespace: string, id: string): Promise<Listed<Job>> {
    const order: ListOrder<Job> = { columns: ['version'], tokenOf: () => '', parse: () => undefined };
    const query = listOf('job_version', ofJob(namespace, id), order, { reverse: true });
    const listed = await this.rows.list(query);
    return { ...listed, index: highest(listed.rows) || listed.index };
  }

  /** Lists jobs by namespace and ID. `prefix` is one of the job's ID. */
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

  /** Lists the newest change first. Index: the table's. */
  jobStatuses(options: JobStatusOptions): Promise<Listed<JobWithStatus>> {
    return this.rows.listAs<JobWithStatus, JobStatusRaw>(jobStatusQuery(options), jobWithStatus, options.keep);
  }

  /** Counts jobs of all namespaces in one pass over the table. */
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

  /** Returns the newest deployment of the job. Index: the table's. */
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

  /** Lists allocations. Rows that the caller has already processed are taken from its cache. */
  allocationsKept<Made>(
    options: Omit<NamespacedListOptions<Allocation>, 'keep'>,
    kept: KeptRows<Allocation, Made>,
  ): Promise<Listed<Made>> {
    const prefix = (options.prefix ?? '').toLowerCase();
    const conditions = (): Conditions => new Conditions().in(options.namespaces).startsWith('id', prefix);
    return this.rows.allocationsKept(conditions, prefix === '' ? byCreation() : byId(), options, kept);
  }

  /** Returns those of these allocations that exist, in any order. */
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

  /** Lists the allocations of a node. Index: the highest of the allocations, or the table's if there are none. */
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

  namespaces(options: ListOptions<Namespace> = {}): Promise<Listed<Namespace>> {
    const conditions = (): Conditions => new Conditions().startsWith('name', options.prefix ?? '');
    const query = listOf('namespaces', conditions, byName<Namespace>(), options);
    return this.rows.list(query, options.keep);
  }

  /** Lists registrations of services by namespace and ID. */
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

  /** Returns the index of the last restore (EV-75), or 0 if there was none. */
  async restoredIndex(): Promise<number> {
    const found = await this.rows.find<TableRows['cluster_meta']>(FIND.clusterMeta, [SINGLETON_KEY]);
    return found.row?.RestoredIndex ?? 0;
  }

  /** Returns the holder of every role that was ever held, and since when. */
  async leases(): Promise<readonly TableRows['leases'][]> {
    const { rows } = await this.pool.query<{ body: TableRows['leases'] }>({
      name: 'leases',
      text: 'select body from leases order by role',
      types: columnTypes,
    });
    return rows.map(({ body }) => body);
  }

  // indexes and verdicts

  /** Returns the highest index of these tables. 0 if none of them ever changed (API-32). */
  async tableIndex(...tables: TableName[]): Promise<number> {
    const { rows } = await this.pool.query<{ index: number }>({
      name: 'table_index',
      text: 'select coalesce(max(index), 0) as index from table_index where name = any($1)',
      values: [tables],
      types: columnTypes,
    });
    return rows[0]?.index ?? 0;
  }

  /** Returns the projected index with the index of every table, in one statement with one row. */
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

  /** Returns the projected index. */
  async appliedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
    return rows[0]?.applied ?? 0;
  }

  /** Returns the identity of the last projected transaction in the log (ST-1), or undefined if there is none. */
  appliedMark(): Promise<LogMark | undefined> {
    return appliedMark(this.pool);
  }

  /** Returns the verdict of a transaction. Undefined if it is not projected yet, or no longer recorded. */
  txnVerdict(index: number): Promise<RecordedVerdict | undefined> {
    return recordedVerdict(this.pool, index);
  }

  // how

  private allocationsBy(column: string, id: string): Promise<Listed<Allocation>> {
    const conditions = (): Conditions => new Conditions().equal(column, id);
    return this.rows.allocations(conditions);
  }

  /** Order of objects with UUIDs: by creation, or by ID for a prefix search. */
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
