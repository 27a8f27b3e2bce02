import type { Job } from '../jobs/job.js';
import { consulBlockOf, DEFAULT_CLUSTER } from '../jobs/login-clusters.js';
import type { Constraint } from '../jobs/placement-rules.js';
import type { Service } from '../jobs/service.js';
import type { Task } from '../jobs/task.js';
import { serviceIdentitiesOf } from '../jobs/service-identities.js';
import { identitiesOf } from '../jobs/task-identities.js';
import type { TaskGroup } from '../jobs/task-group.js';

const consulOf = (cluster: string): Constraint => ({
  LTarget: versionAttribute('consul', cluster),
  RTarget: '>= 1.8.0',
  Operand: 'semver',
});
const vaultOf = (cluster: string): Constraint => ({
  LTarget: versionAttribute('vault', cluster),
  RTarget: '>= 0.6.1',
  Operand: 'semver',
});
/** Returns the attribute of a machine that reaches a cluster. The default cluster is not named in it. */
const versionAttribute = (product: 'consul' | 'vault', cluster: string): string =>
  cluster === DEFAULT_CLUSTER ? `\${attr.${product}.version}` : `\${attr.${product}.${cluster}.version}`;
const NATIVE_SERVICES: Constraint = { LTarget: '${attr.nomad.service_discovery}', RTarget: 'true', Operand: '=' };
const NATIVE_CHECKS: Constraint = { LTarget: '${attr.nomad.version}', RTarget: '>= 1.4.0', Operand: 'semver' };
const IDENTITIES: Constraint = { LTarget: '${attr.nomad.version}', RTarget: '>= 1.7.0-a', Operand: 'semver' };
const NUMA_AWARE: readonly Constraint[] = [
  { LTarget: '${attr.nomad.version}', RTarget: '>= 1.6.3-dev', Operand: 'semver' },
  { LTarget: '${attr.kernel.name}', RTarget: 'linux', Operand: '=' },
];
const BRIDGE_PLUGINS = ['bridge', 'firewall', 'host-local', 'loopback', 'portmap'];

/** Adds the constraints that the job's features put on a node (API-320). Adding them again changes nothing. */
export function withImplicitConstraints(job: Job): Job {
  return { ...job, TaskGroups: job.TaskGroups.map(withGroupConstraints) };
}

function withGroupConstraints(group: TaskGroup): TaskGroup {
  const constraints = [...(group.Constraints ?? [])];
  const services = [...(group.Services ?? []), ...group.Tasks.flatMap((task) => task.Services ?? [])];
  const native = services.filter((service) => service.Provider === 'nomad');
  if (native.length > 0) addUnlessEqual(constraints, NATIVE_SERVICES);
  if (native.some((service) => service.Checks !== null)) addUnlessEqual(constraints, NATIVE_CHECKS);
  const ofServices = (group.Services ?? []).filter(isConsul).map(({ Cluster }) => Cluster);
  const ofTasks = group.Tasks.flatMap((task) => consulBlockOf(group, task)?.Cluster ?? []);
  for (const cluster of [...ofServices, ...ofTasks]) addUnlessConstrained(constraints, consulOf(cluster));
  if ((group.Networks ?? []).some((network) => network.Mode === 'bridge')) addBridge(constraints);
  for (const { Vault } of group.Tasks) if (Vault) addUnlessConstrained(constraints, vaultOf(Vault.Cluster));
  const signals = signalsOf(group);
  if (signals.length > 0) {
    addUnlessEqual(constraints, {
      LTarget: '${attr.os.signals}',
      RTarget: signals.join(','),
      Operand: 'set_contains',
    });
  }
  if (group.Tasks.some((task) => task.Resources.NUMA !== null)) {
    for (const constraint of NUMA_AWARE) addUnlessEqual(constraints, constraint);
  }
  for (const provider of secretProviders(group)) {
    addUnlessConstrained(constraints, {
      LTarget: `\${attr.plugins.secrets.${provider}.version}`,
      RTarget: '',
      Operand: 'is_set',
    });
  }
  const hasIdentity =
    group.Tasks.some((task) => task.Identities !== null) || services.some((service) => service.Identity !== null);
  if (hasIdentity) addUnlessEqual(constraints, IDENTITIES);
  return {
    ...group,
    Constraints: constraints.length === 0 ? null : constraints,
    Tasks: group.Tasks.map(withTaskConstraints),
  };
}

function withTaskConstraints(task: Task): Task {
  const services = (task.Services ?? []).filter(isConsul);
  if (services.length === 0) return task;
  const constraints = [...(task.Constraints ?? [])];
  for (const { Cluster } of services) addUnlessConstrained(constraints, consulOf(Cluster));
  return { ...task, Constraints: constraints };
}

/** Adds a constraint unless the user has already constrained the same attribute (API-322). */
function addUnlessConstrained(constraints: Constraint[], added: Constraint): void {
  if (!constraints.some((constraint) => constraint.LTarget === added.LTarget)) constraints.push({ ...added });
}

function addUnlessEqual(constraints: Constraint[], added: Constraint): void {
  const isThere = constraints.some(
    (constraint) =>
      constraint.LTarget === added.LTarget &&
      constraint.RTarget === added.RTarget &&
      constraint.Operand === added.Operand,
  );
  if (!isThere) constraints.push({ ...added });
}

function addBridge(constraints: Constraint[]): void {
  for (const plugin of BRIDGE_PLUGINS) {
    addUnlessConstrained(constraints, {
      LTarget: `\${attr.plugins.cni.version.${plugin}}`,
      RTarget: '>= 0.4.0',
      Operand: 'semver',
    });
  }
}

/**
 * Returns the signals that a node must be able to send to the group's tasks (API-320, AU-125), sorted, without
 * duplicates.
 */
function signalsOf(group: TaskGroup): string[] {
  const signals = group.Tasks.flatMap((task) => [
    task.KillSignal,
    ...(task.Templates ?? []).map((template) => (template.ChangeMode === 'signal' ? template.ChangeSignal : '')),
    task.Vault?.ChangeMode === 'signal' ? task.Vault.ChangeSignal : '',
    ...[...identitiesOf(task), ...serviceIdentitiesOf(group, task.Name).map(({ identity }) => identity)].map(
      (identity) => (identity.ChangeMode === 'signal' ? identity.ChangeSignal : ''),
    ),
  ]);
  return [...new Set(signals)].filter((signal) => signal !== '').toSorted();
}

function secretProviders(group: TaskGroup): string[] {
  return [...new Set(group.Tasks.flatMap((task) => (task.Secrets ?? []).map((secret) => secret.Provider)))];
}

function isConsul(service: Service): boolean {
  return service.Provider === 'consul';
}
