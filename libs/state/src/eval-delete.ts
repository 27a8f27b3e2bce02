import type { TxnPayloads } from './catalogue.js';
import { removeAllocation } from './alloc-services.js';
import { recomputeJobStatus } from './job-status.js';
import { namespacedKey, SINGLETON_KEY } from './tables.js';
import { Refused, type Write } from './write.js';

/**
 * Type 7, by ids: ST-96, ST-97. Garbage collection leaves out what was written since its scan, and evaluations that
 * keep an allocation (ST-16); what a user deletes is not compared with a scan.
 */
export function deleteEvaluations(
  w: Write,
  { EvalIDs, AllocIDs, ScanIndex, UserInitiated }: TxnPayloads['EvalDelete'],
): void {
  if (UserInitiated && !w.tables.scheduler_config.get(SINGLETON_KEY)?.PauseEvalBroker) {
    throw new Refused('eval broker is enabled; eval broker must be paused to delete evals');
  }
  const isNewer = (row: { ModifyIndex: number }) => !UserInitiated && row.ModifyIndex > ScanIndex;
  for (const id of AllocIDs) {
    const alloc = w.tables.allocs.get(id);
    if (alloc && !isNewer(alloc)) removeAllocation(w, id);
  }
  const jobs = new Set<string>();
  for (const id of EvalIDs) {
    const evaluation = w.tables.evals.get(id);
    if (!evaluation || isNewer(evaluation)) continue;
    if (!UserInitiated && w.tables.allocs.count('eval', id) > 0) continue;
    w.remove('evals', id);
    jobs.add(namespacedKey(evaluation.Namespace, evaluation.JobID));
  }
  for (const job of jobs) recomputeJobStatus(w, job, { evalsDeleted: true });
}
