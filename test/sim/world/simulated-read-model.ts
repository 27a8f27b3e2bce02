import { isPolicyOf, type PolicyWorkload } from '@waybill/model';
import type { Found, KeptRows, Listed, Namespaces, ReadModel, TokenGrants } from '@waybill/projection';
import { namespacedKey, SINGLETON_KEY, type TableName, type TableRows } from '@waybill/state';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { SimulatedPostgres } from './simulated-postgres.js';

/** What a list may be asked for; pages are not simulated. */
interface ListOptions<Row> {
  readonly namespaces?: Namespaces;
  readonly prefix?: string | undefined;
  readonly keep?: ((row: Row) => boolean) | undefined;
}

/** Of a row, what lists choose by. */
interface InNamespace {
  readonly Namespace: string;
}

/** The reads that the simulated API makes, as `ReadModel` has them. */
type SimulatedReads = Pick<
  ReadModel,
  | 'allocation'
  | 'allocations'
  | 'allocationsKept'
  | 'allocationsNamed'
  | 'appliedIndex'
  | 'deployment'
  | 'deploymentAllocations'
  | 'deployments'
  | 'evalAllocations'
  | 'evaluation'
  | 'evaluations'
  | 'job'
  | 'jobAllocations'
  | 'jobDeployments'
  | 'jobEvaluations'
  | 'jobStatuses'
  | 'jobSummary'
  | 'jobs'
  | 'namespace'
  | 'namespaces'
  | 'node'
  | 'nodeAllocations'
  | 'nodes'
  | 'readPoint'
  | 'restoredIndex'
  | 'services'
  | 'tableIndex'
  | 'txnVerdict'
>;

/**
 * The read model of an API process over the simulated Postgres: each read is one query, and so of one moment. What SQL does
 * in the real one, which rows are chosen, is done here by hand; who may see them is decided behind it, by the product.
 */
export function readModelOf(process: SimulatedProcess, postgres: SimulatedPostgres): ReadModel {
  const reads = new Reads(process, postgres);
  const whole: SimulatedReads & {
    readonly access: Partial<ReadModel['access']>;
    readonly keyring: Partial<ReadModel['keyring']>;
    readonly variables: Partial<ReadModel['variables']>;
    readonly volumes: Partial<ReadModel['volumes']>;
  } = {
    ...objects(reads),
    ...lists(reads),
    access: access(reads),
    keyring: {
      key: (keyId) => reads.find('root_keys', keyId),
      keys: () => reads.list('root_keys', {}),
    },
    variables: {
      variable: (namespace, path) => reads.find('variables', namespacedKey(namespace, path)),
      variables: (options) => reads.list('variables', options, { nameOf: ({ Path }) => Path }),
    },
    volumes: {
      hostVolume: (namespace, id) => reads.find('host_volumes', namespacedKey(namespace, id)),
      hostVolumes: (options) => reads.list('host_volumes', options),
      list: ({ namespaces, prefix, keep }) =>
        reads.listAs('csi_volumes', (volume) => ({ volume, plugin: undefined }), { namespaces, prefix, keep }),
    },
  };
  return whole as unknown as ReadModel;
}

const objects = (reads: Reads) =>
  ({
    appliedIndex: () => reads.query(({ appliedIndex }) => appliedIndex),
    txnVerdict: (index) => reads.query((postgres) => postgres.verdictOf(index)),
    tableIndex: (...tables) => reads.query((postgres) => postgres.indexOf(...tables)),
    readPoint: () => reads.query((postgres) => postgres.readPoint()),
    restoredIndex: () => reads.query((postgres) => postgres.row('cluster_meta', SINGLETON_KEY)?.RestoredIndex ?? 0),
    job: (namespace, id) => reads.find('jobs', namespacedKey(namespace, id)),
    jobSummary: (namespace, id) => reads.find('job_summary', namespacedKey(namespace, id)),
    allocation: (id) => reads.find('allocs', id),
    allocationsNamed: (ids) =>
      reads.query((postgres) => postgres.rowsIn('allocs').filter(({ ID }) => ids.includes(ID))),
    evaluation: (id) => reads.find('evals', id),
    deployment: (id) => reads.find('deployment', id),
    node: (id) => reads.find('nodes', id),
    namespace: (name) => reads.find('namespaces', name),
  }) satisfies Partial<SimulatedReads>;

const lists = (reads: Reads) =>
  ({
    jobs: ({ namespaces, prefix, keep }) =>
      reads.listAs('jobs', (job) => ({ job, summary: undefined }), { namespaces, prefix, keep }, [
        'jobs',
        'job_summary',
      ]),
    jobStatuses: ({ namespaces, keep }) =>
      reads.listAs(
        'jobs',
        (job) => ({ job, allocs: [], latestDeployment: undefined, childStatuses: undefined, childrenIndex: 0 }),
        { namespaces, keep },
      ),
    allocations: (options) => reads.list('allocs', options),
    allocationsKept: async <Made>(
      options: ListOptions<TableRows['allocs']>,
      kept: KeptRows<TableRows['allocs'], Made>,
    ) => {
      const { rows, ...page } = await reads.list('allocs', options);
      return { ...page, rows: rows.map((row) => kept.get(row.ID, row.ModifyIndex) ?? kept.make(row)) };
    },
    evaluations: (options) => reads.list('evals', options),
    deployments: (options) => reads.list('deployment', options),
    nodes: (options = {}) => reads.list('nodes', options),
    namespaces: (options = {}) => reads.list('namespaces', options),
    services: ({ serviceName, allocId, ...options }) =>
      reads.list('service_registrations', options, {
        where: (row) =>
          (serviceName === undefined || row.ServiceName === serviceName) &&
          (allocId === undefined || row.AllocID === allocId),
      }),
    jobAllocations: (namespace, id) => reads.list('allocs', {}, { where: ofJob(namespace, id) }),
    jobEvaluations: (namespace, id) => reads.list('evals', {}, { where: ofJob(namespace, id) }),
    jobDeployments: (namespace, id) => reads.list('deployment', {}, { where: ofJob(namespace, id) }),
    evalAllocations: (id) => reads.list('allocs', {}, { where: ({ EvalID }) => EvalID === id }),
    deploymentAllocations: (id) => reads.list('allocs', {}, { where: ({ DeploymentID }) => DeploymentID === id }),
    nodeAllocations: (id) => reads.list('allocs', {}, { where: ({ NodeID }) => NodeID === id }),
  }) satisfies Partial<SimulatedReads>;

const access = (reads: Reads): Partial<ReadModel['access']> => ({
  policies: ({ named, keep } = {}) =>
    reads.list('acl_policy', { keep }, { where: ({ Name }) => named?.includes(Name) ?? true }),
  roles: ({ ids, keep } = {}) => reads.list('acl_roles', { keep }, { where: ({ ID }) => ids?.includes(ID) ?? true }),
  grantsBySecretHash: (hash) => reads.query((postgres) => grantsOf(postgres, hash)),
  token: (accessor) => reads.find('acl_token', accessor),
  role: (id) => reads.find('acl_roles', id),
  roleByName: (name) =>
    reads.query((postgres) => ({
      index: postgres.indexOf('acl_roles'),
      row: postgres.rowsIn('acl_roles').find(({ Name }) => Name === name),
    })),
  policiesNamed: (names) =>
    reads.query((postgres) => postgres.rowsEvenAside('acl_policy').filter(({ Name }) => names.includes(Name))),
  policiesOfWorkload: (workload: PolicyWorkload) =>
    reads.query((postgres) => postgres.rowsEvenAside('acl_policy').filter((policy) => isPolicyOf(policy, workload))),
});

const ofJob =
  (namespace: string, id: string) =>
  ({ Namespace, JobID }: InNamespace & { readonly JobID: string }): boolean =>
    Namespace === namespace && JobID === id;

function grantsOf(postgres: SimulatedPostgres, hash: string): TokenGrants | undefined {
  const token = postgres.rowsEvenAside('acl_token').find(({ SecretHash }) => SecretHash === hash);
  if (!token) return undefined;
  if (token.Type === 'management') return { token, roles: [], policies: [] };
  const ids = new Set((token.Roles ?? []).map(({ ID }) => ID));
  const roles = postgres.rowsEvenAside('acl_roles').filter(({ ID }) => ids.has(ID));
  const names = new Set([...(token.Policies ?? []), ...roles.flatMap((role) => role.Policies.map(({ Name }) => Name))]);
  return { token, roles, policies: postgres.rowsEvenAside('acl_policy').filter(({ Name }) => names.has(Name)) };
}

/** Finds and lists rows as `RowReads` does. */
class Reads {
  constructor(
    private readonly process: SimulatedProcess,
    private readonly postgres: SimulatedPostgres,
  ) {}

  query<T>(effect: (postgres: SimulatedPostgres) => T): Promise<T> {
    return this.postgres.query(this.process, () => effect(this.postgres));
  }

  find<Name extends TableName>(table: Name, key: string): Promise<Found<TableRows[Name]>> {
    return this.query((postgres) => {
      const row = postgres.row(table, key);
      const index = row && 'ModifyIndex' in row ? row.ModifyIndex : postgres.indexOf(table);
      return { index, row };
    });
  }

  list<Name extends TableName>(
    table: Name,
    options: ListOptions<TableRows[Name]>,
    choice: Choice<TableRows[Name]> = {},
  ): Promise<Listed<TableRows[Name]>> {
    return this.listAs(table, (row) => row, options, [table], choice);
  }

  listAs<Name extends TableName, Row>(
    table: Name,
    rowOf: (stored: TableRows[Name]) => Row,
    { namespaces = '*', prefix = '', keep }: ListOptions<Row>,
    indexOf: readonly TableName[] = [table],
    { where, nameOf = idOf }: Choice<TableRows[Name]> = {},
  ): Promise<Listed<Row>> {
    const isIn = (row: object): boolean =>
      namespaces === '*' || !('Namespace' in row) || namespaces.includes(String(row.Namespace));
    return this.query((postgres) => {
      const chosen = postgres
        .rowsIn(table)
        .filter((row) => isIn(row) && nameOf(row).startsWith(prefix) && (where?.(row) ?? true));
      const rows = chosen.map(rowOf).filter((row) => keep?.(row) ?? true);
      return { index: postgres.indexOf(...indexOf), rows, nextToken: '' };
    });
  }
}

interface Choice<Row> {
  readonly where?: (row: Row) => boolean;
  /** What a prefix is one of. */
  readonly nameOf?: (row: Row) => string;
}

const idOf = (row: object): string => ('ID' in row ? String(row.ID) : 'Name' in row ? String(row.Name) : '');
