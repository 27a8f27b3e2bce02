import type { Allocation, Job } from '@waybill/model';

/**
 * Whether an operator may delete an evaluation without anything being forgotten (API-189, EB-306): its job is over, or
 * none of its allocations runs, may run, or failed and still needs the evaluation's history to be replaced.
 * @param job of the evaluation; undefined: gone
 * @param allocs made by the evaluation; asked only where it matters
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
