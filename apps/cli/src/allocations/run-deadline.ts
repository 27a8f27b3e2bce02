import type { Allocation } from '@waybill/model';

/** The members of an allocation that determine its deadline. The job may be missing. */
export type TimedAllocation = Partial<Pick<Allocation, 'Job' | 'TaskGroup' | 'CreateTime'>>;

/** Returns when an allocation reaches its `max_run_duration`, in unix ns, or undefined if it has none (CL-232). */
export function runDeadline({ Job: job, TaskGroup, CreateTime }: TimedAllocation): number | undefined {
  if (!job || (job.Type !== 'batch' && job.Type !== 'sysbatch') || !CreateTime) return undefined;
  const limit = job.TaskGroups.find(({ Name }) => Name === TaskGroup)?.MaxRunDuration ?? 0;
  return limit > 0 ? CreateTime + limit : undefined;
}
