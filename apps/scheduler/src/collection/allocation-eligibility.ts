import { isTerminalAllocation, type Allocation, type Job } from '@waybill/model';
import { isOfOlderSpecification } from '@waybill/state';

/**
 * Whether nobody needs the allocation: its tasks have ended, and it is no history that a replacement depends on (GC-18).
 * @param job as it is now; undefined: gone
 * @param cutoffNs up to when, unix ns, records count as old (GC-13)
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
 * Whether an allocation of a batch job that may run again is a result nobody asks for: it is of an older specification
 * (GC-26). Those of the present one say what was done; without them it would be run again.
 */
export const isFormerResult = (alloc: Allocation, job: Job, cutoffNs: number): boolean =>
  hasEndedBefore(alloc, cutoffNs) && isOfOlderSpecification(alloc, job);

/**
 * It has ended, or was told to and its machine has said so: whatever else of it is up is killed at once where it is no longer
 * listed (GC-99, GC-121). One that waits between two runs of its task is `pending`, and has a disk that its successor wants.
 */
const hasEndedBefore = (alloc: Allocation, cutoffNs: number): boolean =>
  isTerminalAllocation(alloc) &&
  alloc.ModifyTime <= cutoffNs &&
  alloc.ClientStatus !== 'running' &&
  alloc.ClientStatus !== 'pending';
