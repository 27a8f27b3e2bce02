import type { Allocation } from '@waybill/model';

/** An allocation as far as its deadline needs it; the job is not at hand everywhere. */
export type TimedAllocation = Partial<Pick<Allocation, 'Job' | 'TaskGroup' | 'CreateTime'>>;

/** When an allocation will have run for long enough (`max_run_duration`), unix ns; undefined: never (CL-232). */
export function runDeadline({ Job: job, TaskGroup, CreateTime }: TimedAllocation): number | undefined {
  if (!job || (job.Type !== 'batch' && job.Type !== 'sysbatch') || !CreateTime) return undefined;
  const limit = job.TaskGroups.find(({ Name }) => Name === TaskGroup)?.MaxRunDuration ?? 0;
  return limit > 0 ? CreateTime + limit : undefined;
}
