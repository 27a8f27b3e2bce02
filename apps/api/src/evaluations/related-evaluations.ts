import { encodeEvaluationStub, type Evaluation, type EvaluationStub } from '@waybill/model';

/** What following links reads. */
export interface EvaluationLookup {
  evaluation(id: string): Promise<{ readonly row: Evaluation | undefined }>;
  jobEvaluations(namespace: string, jobId: string): Promise<{ readonly rows: readonly Evaluation[] }>;
}

/**
 * Evaluations connected by Next, Previous and Blocked, breadth first in that order, each once, without the one asked
 * for; those that are gone are passed over (EB-300). Links stay within a job, so one read of its evaluations answers
 * nearly all; only what that did not bring is looked up by itself.
 */
export async function relatedEvaluations(read: EvaluationLookup, of: Evaluation): Promise<EvaluationStub[]> {
  const { rows } = await read.jobEvaluations(of.Namespace, of.JobID);
  const known = new Map(rows.map((row) => [row.ID, row]));
  const seen = new Set([of.ID]);
  const queue = linksOf(of);
  const related: EvaluationStub[] = [];
  // The queue grows while it is gone through.
  for (const id of queue) {
    if (seen.has(id)) continue;
    seen.add(id);
    const row = known.get(id) ?? (await read.evaluation(id)).row;
    if (!row) continue;
    related.push(encodeEvaluationStub(row));
    queue.push(...linksOf(row));
  }
  return related;
}

const linksOf = ({ NextEval, PreviousEval, BlockedEval }: Evaluation): string[] =>
  [NextEval, PreviousEval, BlockedEval].filter((id) => id !== '');
