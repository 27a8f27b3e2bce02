import { deleteEvaluations } from './eval-delete.js';
import { upsertEvaluation } from './eval-upsert.js';
import { recomputeJobStatus } from '../jobs/job-status.js';
import type { Appliers } from '../machine/applier.js';
import { namespacedKey } from '../machine/tables.js';

/** Appliers of evaluations (section 7.1). */
export const evaluationAppliers: Appliers<'EvalUpdate' | 'EvalDelete'> = {
  EvalUpdate(w, { Evals }) {
    for (const evaluation of Evals) upsertEvaluation(w, evaluation);
    for (const job of new Set(Evals.map((e) => namespacedKey(e.Namespace, e.JobID)))) recomputeJobStatus(w, job);
  },
  EvalDelete: deleteEvaluations,
};
