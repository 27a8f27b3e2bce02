import { type Allocation, findTaskGroup, type Job, type TaskGroup } from '@waybill/model';

/** AllocationNotRunnableError says that this agent can never run an allocation (AG-47). */
export class AllocationNotRunnableError extends Error {
  override readonly name = 'AllocationNotRunnableError';
}

/** Returns the job that came with an allocation. @throws AllocationNotRunnableError */
export function jobOf(alloc: Allocation): Job {
  if (!alloc.Job) throw new AllocationNotRunnableError('the allocation came without its job');
  return alloc.Job;
}

/** Returns the task group of an allocation from the job that came with it. @throws AllocationNotRunnableError */
export function groupOf(alloc: Allocation): TaskGroup {
  const job = jobOf(alloc);
  const group = findTaskGroup(job, alloc.TaskGroup);
  if (!group) throw new AllocationNotRunnableError(`job "${job.ID}" has no task group "${alloc.TaskGroup}"`);
  return group;
}
