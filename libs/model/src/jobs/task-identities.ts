import type { WorkloadIdentity } from './shared-blocks.js';
import type { Task } from './task.js';

/** Name of the identity that every task has (AU-121). */
export const DEFAULT_IDENTITY = 'default';
/** Audience of a task's default identity: this control plane (AU-121). */
export const DEFAULT_AUDIENCE = 'nomadproject.io';

/** Whether an identity is the default one, by its name or because it has no name (API-312). */
export const isDefaultIdentity = ({ Name }: Partial<Pick<WorkloadIdentity, 'Name'>>): boolean =>
  Name === undefined || Name === '' || Name === DEFAULT_IDENTITY;

/** Returns all identities of a task, the default one first. */
export const identitiesOf = (task: Pick<Task, 'Identity' | 'Identities'>): readonly WorkloadIdentity[] => [
  ...(task.Identity ? [task.Identity] : []),
  ...(task.Identities ?? []),
];
