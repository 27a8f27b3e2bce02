import { type Allocation, isBatchJob, type Job } from '@waybill/model';

/**
 * Whether an allocation was made for an older specification than its job has now (GC-26). One that was updated in place
 * is of the present one, however long ago it was made: there the rule, which looks at the making only, would not do.
 */
export function isOfOlderSpecification(alloc: Allocation, job: Job): boolean {
  const madeFor = alloc.Job?.JobModifyIndex ?? alloc.CreateIndex;
  return Math.max(alloc.CreateIndex, madeFor) < job.JobModifyIndex;
}

/** Whether an allocation, once it has ended, says what a batch job has done: without it the next evaluation does it again. */
export const isBatchResult = (alloc: Allocation, job: Job): boolean =>
  isBatchJob(job) && !job.Stop && !isOfOlderSpecification(alloc, job);
