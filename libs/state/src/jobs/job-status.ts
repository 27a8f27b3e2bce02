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

/** What the tables do not say yet about why a status is computed. */
export interface StatusCause {
  /** An evaluation that this transaction writes right after the job. */
  readonly evaluation?: Evaluation | null;
  /** This transaction writes an active deployment of the job right after it (DP-129). */
  readonly deploys?: boolean;
  /** Evaluations of the job were deleted (ST-70, last case but one). */
  readonly evalsDeleted?: boolean;
}

/** ST-70, first match wins. O(1): the tables count what is live, open and active per job. */
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

/** Puts the status of a job right (ST-73, ST-74): job row, its version row, its parent's counters; or nothing. */
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
