import { isTerminalEvaluation, type Evaluation, Refusal } from '@waybill/model';
import { recomputeJobStatus } from '../jobs/job-status.js';
import { setQueued } from '../jobs/job-summary.js';
import { oldestFirst } from '../machine/row-order.js';
import { namespacedKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

const STATUSES: ReadonlySet<string> = new Set(['blocked', 'pending', 'complete', 'failed', 'canceled']);

/**
 * Writes an evaluation (ST-91, ST-92 without the job's status, ST-93). A stored one that is terminal stays as it is
 * (EB-336). Refuses an unknown status (ST-13).
 */
export function upsertEvaluation(w: Write, given: Evaluation): void {
  if (!STATUSES.has(given.Status)) {
    throw new Refusal('invalid', `evaluation "${given.ID}" has unknown status "${given.Status}"`);
  }
  const stored = w.tables.evals.get(given.ID);
  if (stored && isTerminalEvaluation(stored)) return;
  const jobKey = namespacedKey(given.Namespace, given.JobID);
  setQueued(w, jobKey, given.QueuedAllocations);
  if (given.Status === 'complete' && Object.keys(given.FailedTGAllocs).length === 0) cancelBlocked(w, given, jobKey);
  w.put('evals', { ...given, CreateIndex: stored?.CreateIndex ?? w.index, ModifyIndex: w.index });
}

/** Writes an evaluation for the types that also update the job's status (ST-73). */
export function upsertEvaluationAndStatus(w: Write, given: Evaluation): void {
  upsertEvaluation(w, given);
  recomputeJobStatus(w, namespacedKey(given.Namespace, given.JobID));
}

/**
 * Cancels the job's blocked evaluations, because everything was placed and no allocation waits for capacity (ST-93).
 */
function cancelBlocked(w: Write, complete: Evaluation, jobKey: string): void {
  const blocked: Evaluation[] = [];
  for (const evaluation of w.tables.evals.by('open', jobKey))
    if (evaluation.Status === 'blocked' && evaluation.ID !== complete.ID) blocked.push(evaluation);
  for (const evaluation of blocked.length > 1 ? oldestFirst(blocked) : blocked)
    w.put('evals', {
      ...evaluation,
      Status: 'canceled',
      StatusDescription: `evaluation "${complete.ID}" successful`,
      ModifyIndex: w.index,
      ModifyTime: complete.ModifyTime,
    });
}
