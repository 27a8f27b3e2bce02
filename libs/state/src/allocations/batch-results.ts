import { type Allocation, isBatchJob, type Job } from '@waybill/model';

/**
 * Whether an allocation was placed for an older specification than its job has now (GC-26). An allocation that was
 * updated in place is of the current specification, however old it is; the rule, which compares the creation only, does
 * not suffice there.
 */
export function isOfOlderSpecification(alloc: Allocation, job: Job): boolean {
  const madeFor = alloc.Job?.JobModifyIndex ?? alloc.CreateIndex;
  return Math.max(alloc.CreateIndex, madeFor) < job.JobModifyIndex;
}

/**
 * Whether an allocation that has ended is a result of a batch job: without it the next evaluation would run the work
 * again.
 */
export const isBatchResult = (alloc: Allocation, job: Job): boolean =>
  isBatchJob(job) && !job.Stop && !isOfOlderSpecification(alloc, job);
