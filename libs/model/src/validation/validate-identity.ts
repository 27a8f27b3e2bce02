import { IDENTITY_NAME } from '../limits/name-limits.js';
import type { WorkloadIdentity } from '../jobs/shared-blocks.js';
import { identitiesOf, isDefaultIdentity } from '../jobs/task-identities.js';
import type { Service } from '../jobs/service.js';
import { serviceIdentitiesOf } from '../jobs/service-identities.js';
import type { TaskGroup } from '../jobs/task-group.js';
import type { Task } from '../jobs/task.js';
import { ROOT_KEY_COLLECTION_NS, ROOT_KEY_ROTATION_NS } from '../keyring/root-key.js';
import { NS_PER_SECOND } from '../time/clock.js';
import { nestedList } from './message-list.js';
import { pathErrors } from './safe-name.js';

const CHANGE_MODES = new Set(['', 'noop', 'restart', 'signal']);

/** Shortest TTL that agents can renew in time. They renew every 10 to 11 s at most (AU-327). */
export const SHORTEST_RENEWED_TTL_NS = 20 * NS_PER_SECOND;
/** Age up to which an inactive key is sure to exist: rotation time plus collection time (AU-184). */
export const KEY_LIFETIME_NS = ROOT_KEY_ROTATION_NS + ROOT_KEY_COLLECTION_NS;

/** Returns the errors of a task's identities (AU-122, AU-123), without the prefix of the task. */
export function identitiesErrors(task: Task): string[] {
  const named = task.Identities ?? [];
  return [
    ...(named.some(isDefaultIdentity) ? ['Duplicate default identities found'] : []),
    ...repeatedNames(named).map((name) => `Identity "${name}" defined multiple times`),
    ...identitiesOf(task).flatMap(identityErrors),
  ];
}

/**
 * Returns the errors of a service's identity (AU-122, AU-123, AU-128), without the prefix of the service. Members that
 * only count for a token in a file are checked only if a task gets one.
 */
export function serviceIdentityErrors({ Identity }: Pick<Service, 'Identity'>): string[] {
  if (!Identity) return [];
  const hasAudience = (Identity.Audience ?? []).length > 0;
  return [
    ...(hasAudience ? [] : ['Service identity must provide at least one target aud value']),
    ...(Identity.File ? problemsOf(Identity, Identity.TTL < 0 ? ['ttl must be >= 0'] : []) : []),
  ];
}

/** Returns the errors of services of a group whose tokens would be written to the same file. */
export function sharedTokenErrors(group: TaskGroup): string[] {
  const names = group.Tasks.flatMap(({ Name }) =>
    serviceIdentitiesOf(group, Name).map(
      ({ service, identity }) => `Identity "${identity.Name}" of service "${service.Name}" in task "${Name}"`,
    ),
  );
  return [...new Set(names.filter((name, at) => names.indexOf(name) < at))].map(
    (name) => `${name} defined multiple times`,
  );
}

/** Returns the warnings about identities of the group's services whose token no task receives. */
export const serviceIdentityWarnings = (group: TaskGroup): string[] =>
  (group.Services ?? []).flatMap(({ Name, TaskName, Identity }) =>
    Identity?.File && !group.Tasks.some((task) => task.Name === TaskName)
      ? [`Service "${Name}": no task receives the file of its identity. Name the task with task = "..."`]
      : [],
  );

/** Returns the warnings about a task's identities (AU-124, AU-184, AU-327), without the prefix of the task. */
export const identitiesWarnings = (task: Task): string[] => (task.Identities ?? []).flatMap(identityWarnings);

function repeatedNames(identities: readonly WorkloadIdentity[]): string[] {
  const names = identities.filter((identity) => !isDefaultIdentity(identity)).map(({ Name }) => Name);
  return [...new Set(names.filter((name, at) => names.indexOf(name) < at))];
}

function identityErrors(identity: WorkloadIdentity): string[] {
  return problemsOf(identity, ttlErrors(identity));
}

function problemsOf(identity: WorkloadIdentity, ofTtl: readonly string[]): string[] {
  const { Name } = identity;
  const problems = [
    ...(Name === '' || IDENTITY_NAME.test(Name)
      ? []
      : [`invalid name "${Name}". Must match regex ${IDENTITY_NAME.source}`]),
    ...(identity.Audience ?? []).flatMap((audience, at) =>
      audience === '' ? [`an empty string is an invalid audience (${at + 1})`] : [],
    ),
    ...changeErrors(identity),
    ...ofTtl,
    ...pathErrors(identity.Filepath, 'filepath'),
    ...(identity.Filepath !== '' && !identity.File ? ['file parameter must be true in order to specify filepath'] : []),
  ];
  return [
    ...(problems.length === 0 ? [] : [`Identity "${Name}" is invalid: ${nestedList(problems)}`]),
    ...(identity.Filepath !== '' && leavesTaskDirectory(identity.Filepath)
      ? [`Identity "${Name}" is invalid: filepath escapes the task directory`]
      : []),
  ];
}

function changeErrors({ ChangeMode, ChangeSignal }: WorkloadIdentity): string[] {
  if (!CHANGE_MODES.has(ChangeMode)) return [`invalid change_mode: ${ChangeMode}`];
  if (ChangeMode === 'signal')
    return ChangeSignal === '' ? ['change_signal must be specified when using change_mode="signal"'] : [];
  return ChangeSignal === '' ? [] : [`can only use change_signal="${ChangeSignal}" with change_mode="signal"`];
}

function ttlErrors(identity: WorkloadIdentity): string[] {
  if (identity.TTL < 0) return ['ttl must be >= 0'];
  return identity.TTL > 0 && isDefaultIdentity(identity) ? ['ttl for default identity not yet supported'] : [];
}

function identityWarnings({ Name, Audience, TTL, Env, ChangeMode }: WorkloadIdentity): string[] {
  const audiences = (Audience ?? []).length;
  const said = [
    ...(audiences === 0 ? ['identities without an audience are insecure'] : []),
    ...(audiences > 1 ? ['while multiple audiences is allowed, it is more secure to use 1 audience per identity'] : []),
    ...(TTL === 0 ? ['identities without an expiration are insecure'] : []),
    ...(TTL > 0 && TTL < SHORTEST_RENEWED_TTL_NS
      ? ['a ttl below 20s ends before the token is renewed, so the task sees expired tokens']
      : []),
    ...(Env && ChangeMode !== 'restart'
      ? ['using env=true without change_mode="restart" may result in task not getting updated identity']
      : []),
  ].map((warning) => `Identity[${Name}] ${warning}`);
  return TTL > KEY_LIFETIME_NS ? [...said, `identity "${Name}" may outlive its signing key`] : said;
}

/** Whether the path is absolute, leads above the task's directory, or names no file (AU-123). */
function leavesTaskDirectory(path: string): boolean {
  let depth = 0;
  for (const part of path.split('/')) {
    if (part === '..') depth -= 1;
    else if (part !== '' && part !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return path.startsWith('/') || depth === 0;
}
