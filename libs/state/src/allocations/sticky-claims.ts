import { type Allocation, type Job, type TaskGroupHostVolumeClaim, volumesAskedBy } from '@waybill/model';
import { namespacedKey, type Tables } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/**
 * Claims that the new allocations of a plan make on the host volumes they ask to stick to (ST-122, VL-294), for whoever
 * writes the plan. Nothing for jobs that ask for none, which are nearly all. O(placed).
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

/** One claim of a group on a volume: who is there now has taken over who was there before. */
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
