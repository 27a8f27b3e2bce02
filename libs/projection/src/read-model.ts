import type {
  Allocation,
  CSIPlugin,
  Deployment,
  Evaluation,
  HostVolume,
  Job,
  JobScalingEvents,
  JobStatus,
  JobSubmission,
  JobSummary,
  Namespace,
  Node,
  NodePool,
  SchedulerConfiguration,
  ServiceRegistration,
  TaskGroupHostVolumeClaim,
} from '@waybill/model';
import { SINGLETON_KEY, type TableName, type TableRows, type Verdict } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { AllocJobsRead } from './alloc-jobs.js';
import { columnTypes } from './column-types.js';
import {
  type JobStatusOptions,
  jobStatusQuery,
  type JobStatusRaw,
  jobWithStatus,
  type JobWithStatus,
} from './job-statuses.js';
import {
  ALLOCATIONS,
  bodiesOf,
  Conditions,
  findStatement,
  type ListQuery,
  listStatement,
  type Namespaces,
} from './list-query.js';
import { byCreation, byId, byName, byNamespaceAndId, type ListOrder, type Page } from './page.js';
import { READ_APPLIED } from './statements.js';
import { parseStored, plainText, storedText } from './stored-text.js';
import { inTransaction } from './transaction.js';
import {
  FIND_VOLUME,
  hostVolumeConditions,
  type HostVolumeListOptions,
  volumeClaimConditions,
  type VolumeClaimListOptions,
  type VolumeListOptions,
  volumeQuery,
  type VolumeRaw,
  volumeWithPlugin,
  type VolumeWithPlugin,
} from './volume-queries.js';

/** Rows looked at per statement when a filter decides which ones count. */
export const FILTER_SCAN_ROWS = 500;

/** One object, or none, with the index of the answer (ST-29). */
export interface Found<Row> {
  /** At least 1. */
  readonly index: number;
  readonly row: Row | undefined;
}

/** A list with the index of the answer (ST-29). */
export interface Listed<Row> {
  /** At least 1. */
  readonly index: number;
  readonly rows: readonly Row[];
  /** Where the next page begins, "" when this is the last (API-63). */
  readonly nextToken: string;
}

/** What every list takes. */
export interface ListOptions<Row> extends Page {
  /** Beginning of the id, as typed; ids are compared in lower case where they are uuids. */
  readonly prefix?: string | undefined;
  /** Rows for which it is false are left out, and pages are full nevertheless (API-62, API-67). */
  readonly keep?: ((row: Row) => boolean) | undefined;
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

/** A transaction as it was recorded. */
export interface RecordedVerdict {
  readonly index: number;
  readonly requestId: string;
  readonly verdict: Verdict;
}

interface Indexed {
  readonly table_index: number;
}
type Body<Row> = Indexed & { readonly found: true | null; readonly body: Row };
interface AllocColumns {
  readonly body: Allocation;
  readonly job_key: string;
  readonly job: string | null;
}
type AllocRow = Indexed & { readonly found: true | null } & AllocColumns;
type JobRow = Indexed & { readonly found: true | null; readonly body: Job; readonly summary: JobSummary | null };

const FIND = {
  job: findStatement('jobs', ['namespace', 'id']),
  jobSummary: findStatement('job_summary', ['namespace', 'job_id']),
  jobScalingEvents: findStatement('scaling_event', ['namespace', 'job_id']),
  jobSubmission: findStatement('job_submission', ['namespace', 'job_id', 'version']),
  evaluation: findStatement('evals', ['id']),
  allocation: findStatement('allocs', ['id'], ALLOCATIONS),
  deployment: findStatement('deployment', ['id']),
  node: findStatement('nodes', ['id']),
  nodePool: findStatement('node_pools', ['name']),
  namespace: findStatement('namespaces', ['name']),
  plugin: findStatement('csi_plugins', ['id']),
  hostVolume: findStatement('host_volumes', ['namespace', 'id']),
  schedulerConfiguration: findStatement('scheduler_config', ['id']),
  clusterMeta: findStatement('cluster_meta', ['id']),
} as const;

/**
 * Reads of the projected state. Stateless. Rows and index of an answer come from one statement, or from one
 * repeatable-read transaction, so they are of the same index (ST-140); the objects are the state's rows as they are,
 * secrets included: encode before handing them out.
 *
 * Cost: what the answer holds; a list with a filter also what the filter rejects. Errors of the database go through.
 */
export class ReadModel {
  constructor(private readonly pool: Pool) {}

  // jobs

  job(namespace: string, id: string): Promise<Found<Job>> {
    return this.find(FIND.job, [namespace, id]);
  }

  jobSummary(namespace: string, id: string): Promise<Found<JobSummary>> {
    return this.find(FIND.jobSummary, [namespace, id]);
  }

  jobScalingEvents(namespace: string, id: string): Promise<Found<JobScalingEvents>> {
    return this.find(FIND.jobScalingEvents, [namespace, id]);
  }

  /** The text a version was submitted as. */
  async jobSubmission(namespace: string, id: string, version: number): Promise<Found<JobSubmission>> {
    return this.findWith<JobSubmission>(FIND.jobSubmission, [namespace, id, version], (row) => row.JobModifyIndex);
  }

  /** Every kept version, newest first. Index: the highest of the versions. */
  async jobVersions(namespace: string, id: string): Promise<Listed<Job>> {
    const order: ListOrder<Job> = { columns: ['version'], tokenOf: () => '', parse: () => undefined };
    const query = this.bodies(['job_version'], 'job_version', ofJob(namespace, id), order, { reverse: true });
    const listed = await this.list(query);
    return { ...listed, index: highest(listed.rows) || listed.index };
  }

  /** By namespace and id. `prefix` is one of the job's id. */
  jobs(options: JobListOptions): Promise<Listed<JobWithSummary>> {
    const conditions = (): Conditions => {
      const chosen = new Conditions().in(options.namespaces).startsWith('id', options.prefix ?? '');
      return options.pool === undefined ? chosen : chosen.equal('node_pool', options.pool);
    };
    return this.listAs(
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
    return this.listAs<JobWithStatus, JobStatusRaw>(jobStatusQuery(options), jobWithStatus, options.keep);
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
    return this.allocationsOf(conditions);
  }

  jobEvaluations(namespace: string, id: string): Promise<Listed<Evaluation>> {
    return this.list(this.bodies(['evals'], 'evals', ofJob(namespace, id), byCreation<Evaluation>()));
  }

  jobDeployments(namespace: string, id: string): Promise<Listed<Deployment>> {
    return this.list(this.bodies(['deployment'], 'deployment', ofJob(namespace, id), byCreation<Deployment>()));
  }

  /** The newest deployment of the job. Index: the table's. */
  async jobDeployment(namespace: string, id: string): Promise<Found<Deployment>> {
    const page = { reverse: true, perPage: 1 };
    const order = byCreation<Deployment>();
    const listed = await this.list(this.bodies(['deployment'], 'deployment', ofJob(namespace, id), order, page));
    return { index: listed.index, row: listed.rows[0] };
  }

  // evaluations

  evaluation(id: string): Promise<Found<Evaluation>> {
    return this.find(FIND.evaluation, [id]);
  }

  evaluations(options: EvaluationListOptions): Promise<Listed<Evaluation>> {
    const { jobId, status } = options;
    return this.ofUuids(['evals'], 'evals', options, (conditions) => {
      if (jobId !== undefined) conditions.equal('job_id', jobId);
      if (status !== undefined) conditions.equal('status', status);
    });
  }

  evalAllocations(evalId: string): Promise<Listed<Allocation>> {
    return this.allocationsBy('eval_id', evalId);
  }

  // allocations

  async allocation(id: string): Promise<Found<Allocation>> {
    const { rows } = await this.pool.query<Indexed & (AllocColumns | { readonly body: null })>({
      ...FIND.allocation,
      values: [storedText(id)],
      types: columnTypes,
    });
    const found = rows[0];
    if (!found?.body) return { index: atLeastOne(found?.table_index ?? 0), row: undefined };
    const row = withJobs()(found);
    return { index: atLeastOne(row.ModifyIndex), row };
  }

  allocations(options: NamespacedListOptions<Allocation>): Promise<Listed<Allocation>> {
    const prefix = (options.prefix ?? '').toLowerCase();
    const conditions = (): Conditions => new Conditions().in(options.namespaces).startsWith('id', prefix);
    const order = prefix === '' ? byCreation<Allocation>() : byId<Allocation>();
    return this.allocationsOf(conditions, order, options, options.keep);
  }

  // deployments

  deployment(id: string): Promise<Found<Deployment>> {
    return this.find(FIND.deployment, [id]);
  }

  deployments(options: NamespacedListOptions<Deployment>): Promise<Listed<Deployment>> {
    return this.ofUuids(['deployment'], 'deployment', options);
  }

  deploymentAllocations(deploymentId: string): Promise<Listed<Allocation>> {
    return this.allocationsBy('deployment_id', deploymentId);
  }

  // nodes

  node(id: string): Promise<Found<Node>> {
    return this.find(FIND.node, [id]);
  }

  nodes(options: NodeListOptions = {}): Promise<Listed<Node>> {
    const conditions = (): Conditions => {
      const chosen = new Conditions().startsWith('id', (options.prefix ?? '').toLowerCase());
      return options.pool === undefined ? chosen : chosen.equal('node_pool', options.pool);
    };
    return this.list(this.bodies(['nodes'], 'nodes', conditions, byId<Node>(), options), options.keep);
  }

  /** Index: the highest of the allocations, the table's when there are none. */
  async nodeAllocations(nodeId: string): Promise<Listed<Allocation>> {
    const listed = await this.allocationsBy('node_id', nodeId);
    return { ...listed, index: highest(listed.rows) || listed.index };
  }

  nodePool(name: string): Promise<Found<NodePool>> {
    return this.find(FIND.nodePool, [name]);
  }

  nodePools(options: ListOptions<NodePool> = {}): Promise<Listed<NodePool>> {
    const conditions = (): Conditions => new Conditions().startsWith('name', options.prefix ?? '');
    const query = this.bodies(['node_pools'], 'node_pools', conditions, byName<NodePool>(), options);
    return this.list(query, options.keep);
  }

  // volumes

  volumes(options: VolumeListOptions): Promise<Listed<VolumeWithPlugin>> {
    return this.listAs<VolumeWithPlugin, VolumeRaw>(volumeQuery(options), volumeWithPlugin, options.keep);
  }

  /** Index: the table's (ST-29). */
  async volume(namespace: string, id: string): Promise<Found<VolumeWithPlugin>> {
    const { rows } = await this.pool.query<Indexed & (VolumeRaw | { readonly body: null })>({
      ...FIND_VOLUME,
      values: [storedText(namespace), storedText(id)],
      types: columnTypes,
    });
    const found = rows[0];
    return { index: atLeastOne(found?.table_index ?? 0), row: found?.body ? volumeWithPlugin(found) : undefined };
  }

  plugins(options: ListOptions<CSIPlugin> = {}): Promise<Listed<CSIPlugin>> {
    const conditions = (): Conditions => new Conditions().startsWith('id', options.prefix ?? '');
    const query = this.bodies(['csi_plugins'], 'csi_plugins', conditions, byId<CSIPlugin>(), options);
    return this.list(query, options.keep);
  }

  /** Index: the table's (ST-29). */
  plugin(id: string): Promise<Found<CSIPlugin>> {
    return this.findWith<CSIPlugin>(FIND.plugin, [id], (_, tableIndex) => tableIndex);
  }

  hostVolume(namespace: string, id: string): Promise<Found<HostVolume>> {
    return this.find(FIND.hostVolume, [namespace, id]);
  }

  hostVolumes(options: HostVolumeListOptions): Promise<Listed<HostVolume>> {
    const order = byNamespaceAndId<HostVolume>((row) => row);
    const conditions = (): Conditions => hostVolumeConditions(options);
    return this.list(this.bodies(['host_volumes'], 'host_volumes', conditions, order, options), options.keep);
  }

  /** Claims of task groups on host volumes. */
  volumeClaims(options: VolumeClaimListOptions): Promise<Listed<TaskGroupHostVolumeClaim>> {
    const conditions = (): Conditions => volumeClaimConditions(options);
    return this.list(this.bodies(['task_volume'], 'task_volume', conditions, byId(), options));
  }

  /** Those of these allocations that still exist, in no order. */
  async allocationsNamed(ids: readonly string[]): Promise<readonly Allocation[]> {
    if (ids.length === 0) return [];
    const conditions = (): Conditions => {
      const chosen = new Conditions();
      return chosen.where(`r.id = any(${chosen.value(ids.map(storedText))})`);
    };
    return (await this.allocationsOf(conditions)).rows;
  }

  // the rest

  namespace(name: string): Promise<Found<Namespace>> {
    return this.find(FIND.namespace, [name]);
  }

  namespaces(options: ListOptions<Namespace> = {}): Promise<Listed<Namespace>> {
    const conditions = (): Conditions => new Conditions().startsWith('name', options.prefix ?? '');
    const query = this.bodies(['namespaces'], 'namespaces', conditions, byName<Namespace>(), options);
    return this.list(query, options.keep);
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
    const query = this.bodies(['service_registrations'], 'service_registrations', conditions, order, options);
    return this.list(query, options.keep);
  }

  schedulerConfiguration(): Promise<Found<SchedulerConfiguration>> {
    return this.find(FIND.schedulerConfiguration, [SINGLETON_KEY]);
  }

  async clusterId(): Promise<string | undefined> {
    const found = await this.find<TableRows['cluster_meta']>(FIND.clusterMeta, [SINGLETON_KEY]);
    return found.row?.ClusterID;
  }

  // indexes and verdicts

  /** Highest index of these tables, at least 1. */
  async tableIndex(...tables: TableName[]): Promise<number> {
    const { rows } = await this.pool.query<{ index: number }>({
      name: 'table_index',
      text: 'select coalesce(max(index), 0) as index from table_index where name = any($1)',
      values: [tables],
      types: columnTypes,
    });
    return atLeastOne(rows[0]?.index ?? 0);
  }

  /** How far the log has been projected. */
  async appliedIndex(): Promise<number> {
    const { rows } = await this.pool.query<{ applied: number }>({ ...READ_APPLIED, types: columnTypes });
    return rows[0]?.applied ?? 0;
  }

  /** What became of a transaction; undefined: not projected yet, or no longer recorded. */
  async txnVerdict(index: number): Promise<RecordedVerdict | undefined> {
    const { rows } = await this.pool.query<{
      request_id: string;
      verdict: Verdict['kind'];
      error: string | null;
      result: unknown;
    }>({
      name: 'txn_verdict',
      text: 'select request_id, verdict, error, result from txn where index = $1',
      values: [index],
      types: columnTypes,
    });
    const row = rows[0];
    if (!row) return undefined;
    const error = row.error === null ? undefined : plainText(row.error);
    return { index, requestId: plainText(row.request_id), verdict: verdictOf(row.verdict, error, row.result) };
  }

  // how

  private find<Row extends { ModifyIndex: number }>(
    statement: { name: string; text: string },
    key: readonly (string | number)[],
  ): Promise<Found<Row>> {
    return this.findWith<Row>(statement, key, (row) => row.ModifyIndex);
  }

  private async findWith<Row>(
    statement: { name: string; text: string },
    key: readonly (string | number)[],
    indexOf: (row: Row, tableIndex: number) => number,
  ): Promise<Found<Row>> {
    const values = key.map((part) => (typeof part === 'string' ? storedText(part) : part));
    const { rows } = await this.pool.query<Indexed & { body: Row | null }>({
      ...statement,
      values,
      types: columnTypes,
    });
    const row = rows[0]?.body ?? undefined;
    const tableIndex = rows[0]?.table_index ?? 0;
    return { index: atLeastOne(row === undefined ? tableIndex : indexOf(row, tableIndex)), row };
  }

  private allocationsBy(column: string, id: string): Promise<Listed<Allocation>> {
    const conditions = (): Conditions => new Conditions().equal(column, id);
    return this.allocationsOf(conditions);
  }

  private allocationsOf(
    conditions: () => Conditions,
    order: ListOrder<Allocation> = byCreation(),
    page: Page = {},
    keep?: (row: Allocation) => boolean,
  ): Promise<Listed<Allocation>> {
    const query = { ...ALLOCATIONS, indexOf: ['allocs'] as const, conditions, order, page };
    return this.listAs<Allocation, AllocRow>(query, withJobs(), keep);
  }

  /** Objects with uuids: by creation, or by id when searched by its beginning. */
  private ofUuids<Row extends { ID: string; CreateIndex: number }>(
    indexOf: readonly TableName[],
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
    return this.list(this.bodies(indexOf, table, conditions, order, options), options.keep);
  }

  private bodies<Row>(
    indexOf: readonly TableName[],
    table: TableName,
    conditions: () => Conditions,
    order: ListOrder<Row>,
    page: Page = {},
  ): ListQuery<Row> {
    return { ...bodiesOf(table), indexOf, conditions, order, page };
  }

  private list<Row>(query: ListQuery<Row>, keep?: (row: Row) => boolean): Promise<Listed<Row>> {
    return this.listAs<Row, Body<Row>>(query, (raw) => raw.body, keep);
  }

  private async listAs<Row, Raw extends Indexed & { found: true | null }>(
    query: ListQuery<Row>,
    rowOf: (raw: Raw) => Row,
    keep?: (row: Row) => boolean,
  ): Promise<Listed<Row>> {
    const perPage = query.page.perPage ?? 0;
    if (keep === undefined || perPage === 0) {
      const chunk = await readChunk(this.pool, query, query.page.nextToken ?? '', perPage && perPage + 1, rowOf);
      return pageOf(query, chunk.index, keep ? chunk.rows.filter(keep) : chunk.rows);
    }
    return await inTransaction(this.pool, 'snapshot', async (client) => {
      const kept: Row[] = [];
      let start = query.page.nextToken ?? '';
      for (;;) {
        const chunk = await readChunk(client, query, start, FILTER_SCAN_ROWS + 1, rowOf);
        const next = chunk.rows[FILTER_SCAN_ROWS];
        kept.push(...chunk.rows.slice(0, FILTER_SCAN_ROWS).filter(keep));
        if (next === undefined || kept.length > perPage) return pageOf(query, chunk.index, kept);
        start = query.order.tokenOf(next);
      }
    });
  }
}

async function readChunk<Row, Raw extends Indexed & { found: true | null }>(
  on: Pool | PoolClient,
  query: ListQuery<Row>,
  start: string,
  limit: number,
  rowOf: (raw: Raw) => Row,
): Promise<{ index: number; rows: Row[] }> {
  const { text, values } = listStatement(query, start, limit);
  const { rows } = await on.query<Raw>({ text, values: [...values], types: columnTypes });
  const index = rows[0]?.table_index ?? 0;
  return { index: atLeastOne(index), rows: rows.filter((raw) => raw.found === true).map(rowOf) };
}

function pageOf<Row>(query: ListQuery<Row>, index: number, rows: readonly Row[]): Listed<Row> {
  const perPage = query.page.perPage ?? 0;
  const next = perPage > 0 ? rows[perPage] : undefined;
  if (next === undefined) return { index, rows, nextToken: '' };
  return { index, rows: rows.slice(0, perPage), nextToken: query.order.tokenOf(next) };
}

const ofJob =
  (namespace: string, jobId: string): (() => Conditions) =>
  () =>
    new Conditions().equal('namespace', namespace).equal('job_id', jobId);

/** The allocation of a row; one copy of every job for all rows of an answer. */
function withJobs(): (raw: AllocColumns) => Allocation {
  const jobs = new AllocJobsRead();
  return ({ body, job_key: key, job }) =>
    jobs.complete(body, key, () => (job === null ? null : (parseStored(job) as Job)));
}

const highest = (rows: readonly { readonly ModifyIndex: number }[]): number =>
  rows.reduce((index, row) => Math.max(index, row.ModifyIndex), 0);

/** No answer carries index 0 (ST-29). */
const atLeastOne = (index: number): number => Math.max(1, index);

function verdictOf(kind: Verdict['kind'], error: string | undefined, result: unknown): Verdict {
  if (kind === 'refused' || kind === 'void') return { kind, error: error ?? '' };
  return {
    kind,
    ...(error !== undefined && { error }),
    ...(result !== null && result !== undefined && { result }),
  };
}
