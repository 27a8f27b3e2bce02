import { DEFAULT_IDENTITY, identitiesOf, isDefaultIdentity, type Task, type WorkloadIdentity } from '@waybill/model';

/** An identity of a task for which this machine needs a token. */
export interface WantedIdentity {
  readonly task: string;
  readonly identity: string;
  /** It expires and is renewed. */
  readonly expires: boolean;
}

/**
 * The identities of tasks for which tokens are fetched: all that are named, and the default one where the task is given it
 * (AU-151, AU-156). Most groups have none. Cost: O(tasks).
 */
export const wantedIdentities = (tasks: readonly Task[]): WantedIdentity[] =>
  tasks.flatMap((task) =>
    identitiesOf(task)
      .filter((identity) => !isDefaultIdentity(identity) || identity.Env || identity.File)
      .map((identity) => ({ task: task.Name, identity: nameOf(identity), expires: identity.TTL > 0 })),
  );

/** The name under which its token is kept. */
export const nameOf = (identity: WorkloadIdentity): string =>
  isDefaultIdentity(identity) ? DEFAULT_IDENTITY : identity.Name;

/** Name of the variable in a task's environment that holds the token (AU-156). */
export const tokenVariable = (identity: WorkloadIdentity): string =>
  isDefaultIdentity(identity) ? 'NOMAD_TOKEN' : `NOMAD_TOKEN_${identity.Name}`;

/** Where below a task's directory its token is written (AU-156). */
export function tokenPath(identity: WorkloadIdentity): string {
  if (identity.Filepath !== '') return identity.Filepath;
  return isDefaultIdentity(identity) ? 'secrets/nomad_token' : `secrets/nomad_${identity.Name}.jwt`;
}
