import { isTerminalAllocation, isTerminalEvaluation, type Allocation, type Evaluation, type Job } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';

/** Up to when, unix ns, records count as old. */
export interface Cutoffs {
  readonly evaluationNs: number;
  /** For evaluations of type `batch`, and their allocations. */
  readonly batchNs: number;
}

export interface Collectable {
  readonly allocIds: readonly string[];
  readonly evalIds: readonly string[];
}

/**
 * The evaluations that nobody can need any more, and those of their allocations (EB-152). An allocation that may go does
 * so even if its evaluation stays; an evaluation goes only with the last of its allocations. O(evaluations and their
 * allocations): one look at a state that does not move meanwhile.
 */
export function collectableEvaluations(tables: Tables, nowNs: number, cutoffs: Cutoffs): Collectable {
  const allocIds: string[] = [];
  const evalIds: string[] = [];
  for (const evaluation of tables.evals.all()) {
    const cutoffNs = evaluation.Type === 'batch' ? cutoffs.batchNs : cutoffs.evaluationNs;
    if (!isTerminalEvaluation(evaluation) || evaluation.ModifyTime > cutoffNs) continue;
    const job = tables.jobs.get(namespacedKey(evaluation.Namespace, evaluation.JobID));
    const allocs = [...tables.allocs.by('eval', evaluation.ID)];
    const going = allocs.filter(
      isLiveBatch(evaluation, job)
        ? (alloc) => isOfOlderSpecification(alloc, job, cutoffNs)
        : (alloc) => isCollectable(alloc, job, nowNs, cutoffNs),
    );
    for (const { ID } of going) allocIds.push(ID);
    if (going.length === allocs.length) evalIds.push(evaluation.ID);
  }
  return { allocIds, evalIds };
}

/** Its results say what was done: without them it would be run again (EB-152). */
const isLiveBatch = (evaluation: Evaluation, job: Job | undefined): job is Job =>
  evaluation.Type === 'batch' && job !== undefined && !(job.Stop && job.Status === 'dead');

const isOfOlderSpecification = (alloc: Allocation, job: Job, cutoffNs: number): boolean =>
  isTerminalAllocation(alloc) && alloc.ModifyTime <= cutoffNs && alloc.CreateIndex < job.JobModifyIndex;

/**
 * Whether nobody needs the allocation: its tasks have ended, and it is no history that a replacement depends on (section
 * 3.3 of the reference of collection). @param job as it is now; undefined: gone
 */
export function isCollectable(alloc: Allocation, job: Job | undefined, nowNs: number, cutoffNs: number): boolean {
  if (!isTerminalAllocation(alloc) || alloc.ModifyTime > cutoffNs) return false;
  if (alloc.ClientStatus === 'running') return false;
  if (!job || job.Stop || job.Status === 'dead') return true;
  if (alloc.DesiredStatus === 'stop' || alloc.ClientStatus !== 'failed') return true;
  const policy = job.TaskGroups.find((group) => group.Name === alloc.TaskGroup)?.ReschedulePolicy;
  if (!policy || (!policy.Unlimited && policy.Attempts === 0)) return true;
  if (alloc.NextAllocation !== '') return true;
  const last = alloc.RescheduleTracker?.Events.at(-1);
  return !policy.Unlimited && last !== undefined && nowNs - last.RescheduleTime > policy.Interval;
}
