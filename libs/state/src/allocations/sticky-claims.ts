import { type Allocation, type Job, type TaskGroupHostVolumeClaim, volumesAskedBy } from '@waybill/model';
import { namespacedKey, type Tables } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/**
 * Claims of a plan's new allocations on sticky host volumes (ST-122, VL-294), for the writer of the plan. Nearly all
 * jobs have none. O(placed).
 */
export function stickyClaims(
  tables: Tables,
  job: Job | null,
  placed: readonly Allocation[],
  newId: () => string,
): TaskGroupHostVolumeClaim[] {
  if (!job?.TaskGroups.some(({ Volumes }) => Object.values(Volumes ?? {}).some(({ Sticky }) => Sticky))) return [];
  const claims: TaskGroupHostVolumeClaim[] = [];
  for (const alloc of placed) {
    if (tables.allocs.has(alloc.ID)) continue;
    for (const { request, source } of volumesAskedBy(alloc, alloc.Job ?? job)) {
      const volume = tables.nodes.get(alloc.NodeID)?.HostVolumes[source];
      if (request.Type !== 'host' || !request.Sticky || !volume || volume.ID === '') continue;
      claims.push({
        ID: newId(),
        Namespace: alloc.Namespace,
        JobID: alloc.JobID,
        TaskGroupName: alloc.TaskGroup,
        AllocID: alloc.ID,
        VolumeID: volume.ID,
        VolumeName: source,
        CreateIndex: 0,
        ModifyIndex: 0,
      });
    }
  }
  return claims;
}

/** Stores one claim for each group and volume: a new claim replaces the previous one. */
export function putStickyClaims(w: Write, claims: readonly TaskGroupHostVolumeClaim[]): void {
  for (const claim of claims) {
    if (!w.tables.allocs.has(claim.AllocID)) continue;
    const stored = claimOf(w.tables, claim);
    w.put('task_volume', {
      ...(stored ?? { ...claim, CreateIndex: w.index }),
      AllocID: claim.AllocID,
      ModifyIndex: w.index,
    });
  }
}

function claimOf(tables: Tables, claim: TaskGroupHostVolumeClaim): TaskGroupHostVolumeClaim | undefined {
  for (const stored of tables.task_volume.by('job', namespacedKey(claim.Namespace, claim.JobID)))
    if (stored.TaskGroupName === claim.TaskGroupName && stored.VolumeID === claim.VolumeID) return stored;
  return undefined;
}
