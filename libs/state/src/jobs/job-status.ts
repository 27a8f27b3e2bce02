import {
  isParameterized,
  isPeriodic,
  isTerminalEvaluation,
  type Evaluation,
  type Job,
  type JobStatus,
} from '@waybill/model';
import { withStatus } from '../machine/hot-rows.js';
import { countChild } from './job-summary.js';
import { namespacedKey, versionKey, type Tables } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/** Facts for a job's status that the tables do not show yet. */
export interface StatusCause {
  /** An evaluation that this transaction writes after the job. */
  readonly evaluation?: Evaluation | null;
  /** Whether this transaction writes an active deployment of the job after it (DP-129). */
  readonly deploys?: boolean;
  /** Whether evaluations of the job were deleted (ST-70, last case but one). */
  readonly evalsDeleted?: boolean;
}

/**
 * The status of a job by the table of ST-70, whose first match decides. O(1): indexes count living, open and active
 * rows of each job.
 */
export function deriveJobStatus(
  tables: Tables,
  job: Job,
  cause: StatusCause = {},
  key = namespacedKey(job.Namespace, job.ID),
): JobStatus {
  if (job.Type === 'system' || isPeriodic(job) || isParameterized(job)) return job.Stop ? 'dead' : 'running';
  if (cause.deploys || tables.allocs.count('live', key) > 0 || tables.deployment.count('active', key) > 0)
    return 'running';
  if (isOpen(cause.evaluation) || tables.evals.count('open', key) > 0) return 'pending';
  if (tables.evals.count('job', key) > 0 || job.Stop || cause.evalsDeleted) return 'dead';
  return 'pending';
}

const isOpen = (evaluation: Evaluation | null | undefined): boolean =>
  evaluation !== null && evaluation !== undefined && !isTerminalEvaluation(evaluation);

/**
 * Updates the status of a job in its row, its version's row and its parent's counters, if it has changed (ST-73,
 * ST-74).
 */
export function recomputeJobStatus(w: Write, jobKey: string, cause: StatusCause = {}): void {
  const job = w.tables.jobs.get(jobKey);
  if (!job) return;
  const status = deriveJobStatus(w.tables, job, cause, jobKey);
  if (status === job.Status) return;
  const changed = withStatus(job, status, w.index);
  w.put('jobs', changed);
  if (w.tables.job_version.has(versionKey(job.Namespace, job.ID, job.Version))) w.put('job_version', changed);
  countChild(w, job, job.Status, status);
}
