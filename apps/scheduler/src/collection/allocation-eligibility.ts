import { isTerminalAllocation, type Allocation, type Job } from '@waybill/model';
import { isOfOlderSpecification } from '@waybill/state';

/**
 * Whether the allocation may be collected: its tasks have ended, and no replacement depends on its history (GC-18).
 * @param job as it is stored now; undefined if it was deleted
 * @param cutoffNs time up to which records count as old, unix ns (GC-13)
 */
export function isCollectable(alloc: Allocation, job: Job | undefined, nowNs: number, cutoffNs: number): boolean {
  if (!hasEndedBefore(alloc, cutoffNs)) return false;
  if (!job || job.Stop || job.Status === 'dead') return true;
  if (alloc.DesiredStatus === 'stop' || alloc.ClientStatus !== 'failed') return true;
  const policy = job.TaskGroups.find((group) => group.Name === alloc.TaskGroup)?.ReschedulePolicy;
  if (!policy || (!policy.Unlimited && policy.Attempts === 0)) return true;
  if (alloc.NextAllocation !== '') return true;
  const last = alloc.RescheduleTracker?.Events.at(-1);
  return !policy.Unlimited && last !== undefined && nowNs - last.RescheduleTime > policy.Interval;
}

/**
 * Whether an allocation of a batch job that may run again is an obsolete result: it is of an older specification
 * (GC-26). Allocations of the current specification show what was done; without them it would be run again.
 */
export const isFormerResult = (alloc: Allocation, job: Job, cutoffNs: number): boolean =>
  hasEndedBefore(alloc, cutoffNs) && isOfOlderSpecification(alloc, job);

/**
 * Whether the allocation ended before the cutoff: it has ended, or was stopped and its machine reported that. Tasks of
 * it that still run are killed as soon as it is no longer listed (GC-99, GC-121). An allocation between two runs of its
 * task is `pending`, and its successor needs its disk.
 */
const hasEndedBefore = (alloc: Allocation, cutoffNs: number): boolean =>
  isTerminalAllocation(alloc) &&
  alloc.ModifyTime <= cutoffNs &&
  alloc.ClientStatus !== 'running' &&
  alloc.ClientStatus !== 'pending';
