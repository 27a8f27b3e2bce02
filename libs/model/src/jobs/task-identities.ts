import type { WorkloadIdentity } from './shared-blocks.js';
import type { Task } from './task.js';

/** Name of the identity that every task has (AU-121). */
export const DEFAULT_IDENTITY = 'default';
/** Whom a task's default identity is for: this control plane (AU-121). */
export const DEFAULT_AUDIENCE = 'nomadproject.io';

/** Whether an identity is the default one, by its name or because it has none (API-312). */
export const isDefaultIdentity = ({ Name }: Partial<Pick<WorkloadIdentity, 'Name'>>): boolean =>
  Name === undefined || Name === '' || Name === DEFAULT_IDENTITY;

/** All identities of a task, the default one first. */
export const identitiesOf = (task: Pick<Task, 'Identity' | 'Identities'>): readonly WorkloadIdentity[] => [
  ...(task.Identity ? [task.Identity] : []),
  ...(task.Identities ?? []),
];
