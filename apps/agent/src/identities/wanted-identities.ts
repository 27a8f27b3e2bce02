import { DEFAULT_IDENTITY, identitiesOf, isDefaultIdentity, type Task, type WorkloadIdentity } from '@waybill/model';

/** WantedIdentity is an identity of a task for which this machine needs a token. */
export interface WantedIdentity {
  readonly task: string;
  readonly identity: string;
  /** Whether its token expires and is renewed. */
  readonly expires: boolean;
}

/**
 * Returns the identities of tasks for which tokens are fetched: all that are named, and the default one if the task
 * sees it (AU-151, AU-156). Most groups have none. Cost: O(tasks).
 */
export const wantedIdentities = (tasks: readonly Task[]): WantedIdentity[] =>
  tasks.flatMap((task) =>
    identitiesOf(task)
      .filter((identity) => !isDefaultIdentity(identity) || identity.Env || identity.File)
      .map((identity) => ({ task: task.Name, identity: nameOf(identity), expires: identity.TTL > 0 })),
  );

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
