import { type Evaluation, isBatchJob, isTerminalEvaluation, type Job } from '@waybill/model';
import { namespacedKey } from '@waybill/state';
import { isCollectable, isFormerResult } from './allocation-eligibility.js';
import type { Scan } from './scan.js';

/**
 * Collects evaluations that are not needed any more, and their allocations (section 3.4). An allocation may be
 * collected before its evaluation; an evaluation is collected only with the last of its allocations. O(evaluations and
 * their allocations), because only the rows say how old they are.
 */
export async function collectEvaluations({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  for await (const evaluation of pace.through(tables.evals.all())) {
    const thresholdNs = evaluation.Type === 'batch' ? thresholds.batchEvaluationNs : thresholds.evaluationNs;
    const cutoffNs = nowNs - thresholdNs;
    if (!isTerminalEvaluation(evaluation) || evaluation.ModifyTime > cutoffNs) continue;
    const job = tables.jobs.get(namespacedKey(evaluation.Namespace, evaluation.JobID));
    const allocs = [...tables.allocs.by('eval', evaluation.ID)];
    pace.alsoLookedAt(allocs.length);
    const going = allocs.filter(
      mayRunAgain(evaluation, job)
        ? (alloc) => isFormerResult(alloc, job, cutoffNs)
        : (alloc) => isCollectable(alloc, job, nowNs, cutoffNs),
    );
    const evalIds = going.length === allocs.length ? [evaluation.ID] : [];
    await batches.addEvaluations(
      evalIds,
      going.map(({ ID }) => ID),
    );
  }
}

/**
 * Whether a batch job may run again: it is over for good only when it is both stopped and dead (GC-25, GC-26). The same
 * holds for type sysbatch, which the rule omits: as long as it waits for some machines, work that it has done on others
 * would be repeated.
 */
const mayRunAgain = (evaluation: Evaluation, job: Job | undefined): job is Job =>
  isBatchJob(evaluation) && job !== undefined && !(job.Stop && job.Status === 'dead');
