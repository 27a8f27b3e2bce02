import { type Allocation, findTaskGroup, type Job, type TaskGroup } from '@waybill/model';

/** This agent cannot run an allocation, whatever it tries (AG-47). */
export class AllocationNotRunnableError extends Error {
  override readonly name = 'AllocationNotRunnableError';
}

/** The job that an allocation came with. @throws AllocationNotRunnableError */
export function jobOf(alloc: Allocation): Job {
  if (!alloc.Job) throw new AllocationNotRunnableError('the allocation came without its job');
  return alloc.Job;
}

/** The task group of an allocation in the job that it came with. @throws AllocationNotRunnableError */
export function groupOf(alloc: Allocation): TaskGroup {
  const job = jobOf(alloc);
  const group = findTaskGroup(job, alloc.TaskGroup);
  if (!group) throw new AllocationNotRunnableError(`job "${job.ID}" has no task group "${alloc.TaskGroup}"`);
  return group;
}
