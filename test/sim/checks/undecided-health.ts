import { healthTermsOf } from '@waybill/agent';
import { findTaskGroup, isTerminalAllocation } from '@waybill/model';
import type { Tables } from '@waybill/state';

/**
 * An allocation that runs and of which its machine has not told yet whether it is healthy (AG-126): whatever becomes of its
 * checks, its deadline decides. In words; undefined: none. O(allocations).
 */
export function undecidedHealth(tables: Tables): string | undefined {
  for (const alloc of tables.allocs.all()) {
    if (isTerminalAllocation(alloc) || alloc.ClientStatus !== 'running' || !alloc.Job) continue;
    const group = findTaskGroup(alloc.Job, alloc.TaskGroup);
    const isWatched = group && healthTermsOf(group, alloc.Job.Type, alloc.DeploymentID !== '');
    if (isWatched && typeof alloc.DeploymentStatus?.Healthy !== 'boolean')
      return `allocation ${alloc.ID} of ${alloc.JobID} was told neither healthy nor unhealthy`;
  }
  return undefined;
}
