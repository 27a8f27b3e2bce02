import { isTerminalEvaluation, type Evaluation, type Job } from '@waybill/model';
import { namespacedKey } from '@waybill/state';
import { isCollectable, isOfOlderSpecification } from './allocation-eligibility.js';
import type { Scan } from './scan.js';

/**
 * The evaluations that nobody can need any more, and those of their allocations (section 3.4). An allocation that may go
 * does so even if its evaluation stays; an evaluation goes only with the last of its allocations.
 * O(evaluations and their allocations): only the records themselves say how old they are.
 */
export async function collectEvaluations({ tables, nowNs, thresholds, batches, turns }: Scan): Promise<void> {
  for await (const evaluation of turns.through(tables.evals.all())) {
    const thresholdNs = evaluation.Type === 'batch' ? thresholds.batchEvaluationNs : thresholds.evaluationNs;
    const cutoffNs = nowNs - thresholdNs;
    if (!isTerminalEvaluation(evaluation) || evaluation.ModifyTime > cutoffNs) continue;
    const job = tables.jobs.get(namespacedKey(evaluation.Namespace, evaluation.JobID));
    const allocs = [...tables.allocs.by('eval', evaluation.ID)];
    turns.alsoLookedAt(allocs.length);
    const going = allocs.filter(
      mayRunAgain(evaluation, job)
        ? (alloc) => isOfOlderSpecification(alloc, job, cutoffNs)
        : (alloc) => isCollectable(alloc, job, nowNs, cutoffNs),
    );
    const evalIds = going.length === allocs.length ? [evaluation.ID] : [];
    await batches.evaluations(
      evalIds,
      going.map(({ ID }) => ID),
    );
  }
}

/** GC-25, GC-26: a batch job is over for good only when it is both stopped and dead. */
const mayRunAgain = (evaluation: Evaluation, job: Job | undefined): job is Job =>
  evaluation.Type === 'batch' && job !== undefined && !(job.Stop && job.Status === 'dead');
