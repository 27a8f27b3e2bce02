import { type Evaluation, isBatchJob, isTerminalEvaluation, type Job } from '@waybill/model';
import { namespacedKey } from '@waybill/state';
import { isCollectable, isFormerResult } from './allocation-eligibility.js';
import type { Scan } from './scan.js';

/**
 * The evaluations that nobody can need any more, and those of their allocations (section 3.4). An allocation that may go
 * does so even if its evaluation stays; an evaluation goes only with the last of its allocations.
 * O(evaluations and their allocations): only the records themselves say how old they are.
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
    await batches.evaluations(
      evalIds,
      going.map(({ ID }) => ID),
    );
  }
}

/**
 * GC-25, GC-26: a batch job is over for good only when it is both stopped and dead. So is one of type sysbatch, which the
 * rule leaves out: what it has done on some machines would be done again as long as it waits for others.
 */
const mayRunAgain = (evaluation: Evaluation, job: Job | undefined): job is Job =>
  isBatchJob(evaluation) && job !== undefined && !(job.Stop && job.Status === 'dead');
