import type { Service } from './service.js';
import type { WorkloadIdentity } from './shared-blocks.js';
import type { TaskGroup } from './task-group.js';

/** ServiceIdentity is the identity of a service whose token a task receives as a file. */
export interface ServiceIdentity {
  readonly service: Service;
  /** Its signal is upper-cased, as those of a task's own identities are (AU-125). */
  readonly identity: WorkloadIdentity;
}

/**
 * Returns the identities of services whose tokens a task receives: those with `file` of its own services, and of the
 * group's services that name the task. The token of any other service has no reader, so nobody asks for it.
 */
export const serviceIdentitiesOf = (
  group: Pick<TaskGroup, 'Services' | 'Tasks'>,
  taskName: string,
): readonly ServiceIdentity[] => {
  const own = group.Tasks.find(({ Name }) => Name === taskName)?.Services ?? [];
  const ofGroup = (group.Services ?? []).filter(({ TaskName }) => TaskName === taskName);
  return [...ofGroup, ...own].flatMap((service) => {
    const { Identity } = service;
    return Identity?.File
      ? [{ service, identity: { ...Identity, ChangeSignal: Identity.ChangeSignal.toUpperCase() } }]
      : [];
  });
};
