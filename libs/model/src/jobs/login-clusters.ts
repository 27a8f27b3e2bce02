import type { Job } from './job.js';
import type { ConsulBlock, WorkloadIdentity } from './shared-blocks.js';
import type { Task } from './task.js';
import type { TaskGroup } from './task-group.js';

/** The cluster of Vault or Consul that a block without a name means. */
export const DEFAULT_CLUSTER = 'default';

/** DefaultIdentity is the identity that tasks get for a cluster unless their job has one. `TTL` is in nanoseconds. */
export type DefaultIdentity = Pick<WorkloadIdentity, 'Audience' | 'TTL' | 'ExtraClaims'>;

/** The enabled clusters by name. A cluster with null gives tasks no identity, so that their jobs need their own. */
export type ClusterIdentities = Readonly<Record<string, DefaultIdentity | null>>;

/** LoginClusters are the clusters of Vault and Consul in which tasks may log in by an identity (API-351). */
export interface LoginClusters {
  readonly vault: ClusterIdentities;
  readonly consul: ClusterIdentities;
}

export const NO_LOGIN_CLUSTERS: LoginClusters = { vault: {}, consul: {} };

/** Returns the name of the identity by which a task logs in to a cluster of Vault (AU-163). */
export const vaultIdentityName = (cluster: string): string => `vault_${cluster}`;

/** Returns the name of the identity by which a task logs in to a cluster of Consul (AU-163). */
export const consulIdentityName = (cluster: string): string => `consul_${cluster}`;

/**
 * Returns the `consul` block of a task: its own, whose empty members come from the group's, or the group's. The cluster
 * always has a name. A namespace or partition of the group counts in the group's cluster only.
 */
export function consulBlockOf(
  { Consul: ofGroup }: Pick<TaskGroup, 'Consul'>,
  { Consul: own }: Pick<Task, 'Consul'>,
): ConsulBlock | null {
  if (!own && !ofGroup) return null;
  const groupCluster = ofGroup?.Cluster || DEFAULT_CLUSTER;
  const Cluster = own?.Cluster || groupCluster;
  const shared = Cluster === groupCluster ? ofGroup : null;
  return {
    Cluster,
    Namespace: own?.Namespace || shared?.Namespace || '',
    Partition: own?.Partition || shared?.Partition || '',
  };
}

/** Login is a cluster that a task uses, and the name of the identity that proves the task there. */
interface Login {
  readonly cluster: string;
  readonly identity: string;
  readonly of: keyof LoginClusters;
}

function loginsOf(group: TaskGroup, task: Task): readonly Login[] {
  const consul = consulBlockOf(group, task)?.Cluster;
  const vault = task.Vault?.Cluster;
  return [
    ...(consul === undefined ? [] : [{ of: 'consul', cluster: consul, identity: consulIdentityName(consul) } as const]),
    ...(vault === undefined ? [] : [{ of: 'vault', cluster: vault, identity: vaultIdentityName(vault) } as const]),
  ];
}

const hasIdentity = ({ Identities }: Task, name: string): boolean =>
  (Identities ?? []).some(({ Name }) => Name === name);

/** Gives tasks with a `vault` or `consul` block the identities of their clusters, unless they have them (AU-163). */
export function withLoginIdentities(job: Job, clusters: LoginClusters): Job {
  return {
    ...job,
    TaskGroups: job.TaskGroups.map((group) => ({
      ...group,
      Tasks: group.Tasks.map((task) => withIdentities(group, task, clusters)),
    })),
  };
}

function withIdentities(group: TaskGroup, task: Task, clusters: LoginClusters): Task {
  const added = loginsOf(group, task).flatMap(({ of, cluster, identity }) => {
    const given = identityOf(clusters[of], cluster);
    return given && !hasIdentity(task, identity) ? [identityFor(identity, given)] : [];
  });
  return added.length === 0 ? task : { ...task, Identities: [...(task.Identities ?? []), ...added] };
}

/** Returns undefined if the cluster is not enabled. */
const identityOf = (identities: ClusterIdentities, cluster: string): DefaultIdentity | null | undefined =>
  Object.hasOwn(identities, cluster) ? identities[cluster] : undefined;

const identityFor = (Name: string, { Audience, TTL, ExtraClaims }: DefaultIdentity): WorkloadIdentity => ({
  Name,
  Audience,
  ChangeMode: '',
  ChangeSignal: '',
  Env: false,
  File: false,
  Filepath: '',
  ServiceName: '',
  TTL,
  ExtraClaims,
});

const PRODUCTS = {
  vault: { name: 'Vault', setting: 'WAYBILL_VAULT' },
  consul: { name: 'Consul', setting: 'WAYBILL_CONSUL' },
} as const;

/**
 * Returns the errors of a job whose tasks use clusters that are not enabled, have no identity for a cluster, or offer
 * services in an enabled Consul, where Waybill registers none (API-346, API-351). For each product the first cluster
 * that is not enabled is named.
 */
export function loginErrors(job: Job, clusters: LoginClusters): string[] {
  const used = job.TaskGroups.flatMap((group) =>
    group.Tasks.flatMap((task) => loginsOf(group, task).map((login) => ({ ...login, task }))),
  );
  const unknown = (['vault', 'consul'] as const).flatMap((product) => {
    const found = used.find(({ of, cluster }) => of === product && identityOf(clusters[of], cluster) === undefined);
    return found ? [notEnabled(found)] : [];
  });
  const unproven = used
    .filter(
      ({ of, cluster, identity, task }) => identityOf(clusters[of], cluster) === null && !hasIdentity(task, identity),
    )
    .map(({ task, ...login }) => withoutIdentity(task.Name, login));
  return [...unknown, ...unproven, ...serviceErrors(job, clusters)];
}

const notEnabled = ({ of, cluster }: Login): string =>
  `${PRODUCTS[of].name} ${JSON.stringify(cluster)} not enabled but used in the job. ` +
  `Enable it with ${PRODUCTS[of].setting} of the API, or remove the block`;

const withoutIdentity = (task: string, { of, cluster, identity }: Login): string =>
  `Task "${task}" uses ${PRODUCTS[of].name} "${cluster}", which has no default identity. ` +
  `Add identity { name = "${identity}" } with aud and ttl to the task`;

function serviceErrors({ TaskGroups }: Job, { consul }: LoginClusters): string[] {
  const services = TaskGroups.flatMap(({ Services, Tasks }) => [
    ...(Services ?? []),
    ...Tasks.flatMap((task) => task.Services ?? []),
  ]);
  return services
    .filter(({ Provider, Cluster }) => Provider === 'consul' && identityOf(consul, Cluster) !== undefined)
    .map(
      ({ Name }) =>
        `Service "${Name}" has the provider consul, but Waybill registers no services in Consul. ` +
        'Set provider = "nomad"',
    );
}
