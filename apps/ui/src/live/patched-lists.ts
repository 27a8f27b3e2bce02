import type { Allocation, AllocListStub } from '../api/contract.js';
import type { QueryKey } from './affected-queries.js';
import type { Change } from './change.js';

/**
 * The types of events that change an allocation in place: a report of its machine, and a wish for its end. Any other
 * event may change members that its payload does not have, such as the version of the job.
 */
const IN_PLACE: ReadonlySet<string> = new Set(['AllocationUpdated', 'AllocationUpdateDesiredStatus']);

/** Returns the allocation that a change has changed in place. It is undefined for every other change. */
export function changedInPlace({ topic, type, payload }: Change): Allocation | undefined {
  if (topic !== 'Allocation' || !IN_PLACE.has(type)) return undefined;
  return payload['Allocation'] as Allocation | undefined;
}

/** Returns the keys of the cached lists of stubs that have an allocation. */
export const listsOf = ({ Namespace, JobID, DeploymentID = '' }: Allocation): readonly QueryKey[] => [
  ['job-allocations', Namespace, JobID],
  ...(DeploymentID === '' ? [] : [['deployment-allocations', DeploymentID]]),
];

/**
 * Returns a list with the newest state of the changed allocations. Unchanged rows stay the same objects. The result is
 * undefined if an allocation is not in the list, so that the list must be read again. The function is pure. Cost: one
 * pass over the list, whatever the number of changes.
 */
export function patchedList(
  list: readonly AllocListStub[],
  changed: ReadonlyMap<string, Allocation>,
): readonly AllocListStub[] | undefined {
  let found = 0;
  const patched = list.map((row) => {
    const alloc = changed.get(row.ID);
    if (!alloc) return row;
    found++;
    return (alloc.ModifyIndex ?? 0) > row.ModifyIndex ? patchedRow(row, alloc) : row;
  });
  return found === changed.size ? patched : undefined;
}

/** Events leave out members that are empty (EV-55). */
const patchedRow = (row: AllocListStub, alloc: Allocation): AllocListStub => ({
  ...row,
  DesiredStatus: alloc.DesiredStatus,
  DesiredDescription: alloc.DesiredDescription ?? '',
  DesiredTransition: alloc.DesiredTransition ?? row.DesiredTransition,
  ClientStatus: alloc.ClientStatus,
  ClientDescription: alloc.ClientDescription ?? '',
  TaskStates: alloc.TaskStates ?? null,
  DeploymentStatus: alloc.DeploymentStatus ?? null,
  FollowupEvalID: alloc.FollowupEvalID ?? '',
  NextAllocation: alloc.NextAllocation ?? '',
  ModifyIndex: alloc.ModifyIndex ?? row.ModifyIndex,
  ModifyTime: alloc.ModifyTime ?? row.ModifyTime,
});
