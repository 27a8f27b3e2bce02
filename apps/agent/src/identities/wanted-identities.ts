import {
  DEFAULT_IDENTITY,
  identitiesOf,
  isDefaultIdentity,
  serviceIdentitiesOf,
  type ServiceIdentity,
  type Task,
  type TaskGroup,
  type WorkloadIdentity,
} from '@waybill/model';

/** WantedIdentity is an identity for which this machine needs a token. A task receives the token. */
export interface WantedIdentity {
  readonly task: string;
  /** The name under which the token is kept. It is unique among those of the task. */
  readonly identity: string;
  /** Whether its token expires and is renewed. */
  readonly expires: boolean;
  /** The service whose identity it is; absent if it is the task's own. */
  readonly service?: WantedService;
}

/** WantedService is the service of an identity, whose token is a file of a task. */
export interface WantedService {
  /** The name in the job, in which variables may stand (AU-133). */
  readonly written: string;
  /** The name after the variables were replaced. */
  readonly name: string;
  /** The name of the identity in the service's block; most have none. */
  readonly identity: string;
  /** The identity as if it were the task's own: with the name under which it is kept and the path of its file. */
  readonly delivered: WorkloadIdentity;
}

/**
 * Returns the identities of a group for which tokens are fetched: all that tasks name, a task's default one if the task
 * sees it, and those of services that a task receives as a file (AU-151, AU-156). Most groups have none. Cost: O(tasks
 * and services).
 * @param interpolate replaces variables in the name of a service of the task, or of the group if there is none
 */
export const wantedIdentities = (
  group: Pick<TaskGroup, 'Tasks' | 'Services'>,
  interpolate: (name: string, task: Task | null) => string,
): WantedIdentity[] =>
  group.Tasks.flatMap((task) => [
    ...identitiesOf(task)
      .filter((identity) => !isDefaultIdentity(identity) || identity.Env || identity.File)
      .map((identity) => ({ task: task.Name, identity: nameOf(identity), expires: identity.TTL > 0 })),
    ...serviceIdentitiesOf(group, task.Name).map((found) =>
      ofService(found, task.Name, interpolate(found.service.Name, isOfGroup(found, group) ? null : task)),
    ),
  ]);

const isOfGroup = ({ service }: ServiceIdentity, { Services }: Pick<TaskGroup, 'Services'>): boolean =>
  (Services ?? []).includes(service);

function ofService({ service, identity }: ServiceIdentity, task: string, name: string): WantedIdentity {
  const suffix = identity.Name === '' ? '' : `_${identity.Name}`;
  const Filepath = identity.Filepath || `secrets/nomad_service_${name}${suffix}.jwt`;
  // No identity of a task has a name with a slash.
  const kept = `service/${service.Name}${suffix}`;
  const delivered = { ...identity, Name: kept, Filepath, Env: false };
  const wanted = { written: service.Name, name, identity: identity.Name, delivered };
  return { task, identity: kept, expires: identity.TTL > 0, service: wanted };
}

/** Returns the name under which the identity's token is kept. */
export const nameOf = (identity: WorkloadIdentity): string =>
  isDefaultIdentity(identity) ? DEFAULT_IDENTITY : identity.Name;

/** Returns the name of the variable in a task's environment that contains the token (AU-156). */
export const tokenVariable = (identity: WorkloadIdentity): string =>
  isDefaultIdentity(identity) ? 'NOMAD_TOKEN' : `NOMAD_TOKEN_${identity.Name}`;

/** Returns the token's path below a task's directory (AU-156). */
export function tokenPath(identity: WorkloadIdentity): string {
  if (identity.Filepath !== '') return identity.Filepath;
  return isDefaultIdentity(identity) ? 'secrets/nomad_token' : `secrets/nomad_${identity.Name}.jwt`;
}
