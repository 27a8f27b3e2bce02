import type { Evaluation, Job, JobSubmission } from '@waybill/model';
import { deriveJobStatus } from './job-status.js';
import { countChild, ensureSummary } from './job-summary.js';
import { putSubmission, putVersion } from './job-versions.js';
import { recordLaunch } from './periodic-launch.js';
import { namespacedKey } from '../machine/tables.js';
import { upsertScalingPolicies } from './scaling-policies.js';
import type { Write } from '../machine/write.js';

export interface UpsertOptions {
  readonly submission: JobSubmission | null;
  /** Version whose submission the new one inherits if none is given, or null (ST-58). */
  readonly submissionFrom: number | null;
  /** Number of untagged versions of the job that are kept (ST-84). */
  readonly trackedVersions: number;
  /** Evaluation that the same transaction writes after the job. */
  readonly evaluation: Evaluation | null;
  /** Whether the same transaction writes an active deployment of the job after it. */
  readonly deploys?: boolean;
}

/**
 * Writes a new version of a job, for register, stop and auto-revert alike (ST-53 to ST-55, ST-57 to ST-59). The status
 * is computed once, with the transaction's evaluation, so that no intermediate status is written (ST-5). A tag belongs
 * to its version, so the new one has none.
 */
export function upsertJob(w: Write, given: Job, options: UpsertOptions): Job {
  const stored = w.tables.jobs.get(namespacedKey(given.Namespace, given.ID));
  const version: Job = {
    ...given,
    VersionTag: null,
    Version: stored && given.Version <= stored.Version ? stored.Version + 1 : given.Version,
    CreateIndex: stored?.CreateIndex ?? w.index,
    ModifyIndex: w.index,
    JobModifyIndex: w.index,
  };
  const job: Job = {
    ...upsertScalingPolicies(w, version),
    Status: deriveJobStatus(w.tables, version, options),
  };
  w.put('jobs', job);
  ensureSummary(w, job);
  putVersion(w, job, options.trackedVersions);
  putSubmission(w, job, { given: options.submission, from: options.submissionFrom }, options.trackedVersions);
  countChild(w, job, stored?.Status, job.Status);
  recordLaunch(w, job, !stored);
  return job;
}
