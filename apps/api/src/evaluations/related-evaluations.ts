import { encodeEvaluationStub, type Evaluation, type EvaluationStub } from '@waybill/model';

/** EvaluationLookup has the reads for following links. */
export interface EvaluationLookup {
  evaluation(id: string): Promise<{ readonly row: Evaluation | undefined }>;
  jobEvaluations(namespace: string, jobId: string): Promise<{ readonly rows: readonly Evaluation[] }>;
}

/**
 * Returns the evaluations that Next, Previous and Blocked connect, breadth first in that order, each once, without the
 * requested one. Deleted ones are skipped (EB-300). Links stay within a job, so one read of the job's evaluations gives
 * nearly all of them; only the missing ones are read individually.
 */
export async function relatedEvaluations(read: EvaluationLookup, of: Evaluation): Promise<EvaluationStub[]> {
  const { rows } = await read.jobEvaluations(of.Namespace, of.JobID);
  const known = new Map(rows.map((row) => [row.ID, row]));
  const seen = new Set([of.ID]);
  const queue = linksOf(of);
  const related: EvaluationStub[] = [];
  // The queue grows during the loop.
  for (const id of queue) {
    if (seen.has(id)) continue;
    seen.add(id);
    const row = known.get(id) ?? (await read.evaluation(id)).row;
    if (!row) continue;
    related.push(encodeEvaluationStub(row));
    for (const item of linksOf(row)) queue.push(item);
  }
  return related;
}

const linksOf = ({ NextEval, PreviousEval, BlockedEval }: Evaluation): string[] =>
  [NextEval, PreviousEval, BlockedEval].filter((id) => id !== '');
