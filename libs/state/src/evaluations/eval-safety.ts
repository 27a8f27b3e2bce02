import type { Allocation, Job } from '@waybill/model';

/**
 * Whether an operator may delete an evaluation without losing work (API-189, EB-306): its job has ended, or none of its
 * allocations runs, may run, or failed and needs the evaluation's history for its replacement.
 * @param job of the evaluation; undefined if it was deleted
 * @param allocs allocations that the evaluation placed; called only if they matter
 */
export function isSafeToDelete(job: Job | undefined, allocs: () => Iterable<Allocation>): boolean {
  if (!job || job.Stop || job.Status === 'dead') return true;
  for (const alloc of allocs()) {
    if (alloc.ClientStatus === 'running' || alloc.ClientStatus === 'unknown') return false;
    if (alloc.ClientStatus === 'failed' && mattersForRescheduling(job, alloc)) return false;
  }
  return true;
}

function mattersForRescheduling(job: Job, alloc: Allocation): boolean {
  const policy = job.TaskGroups.find((group) => group.Name === alloc.TaskGroup)?.ReschedulePolicy;
  if (!policy || (policy.Attempts === 0 && !policy.Unlimited)) return false;
  return alloc.NextAllocation === '' || policy.Unlimited || (alloc.RescheduleTracker?.Events.length ?? 0) === 0;
}
