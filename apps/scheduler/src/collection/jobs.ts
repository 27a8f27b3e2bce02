import { isBatchJob, isParameterized, isTerminalEvaluation, type Job } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import { isCollectable } from './allocation-eligibility.js';
import type { Scan } from './scan.js';

/**
 * Collects jobs that are over, each with all its evaluations and allocations or not at all (section 3.5). O(jobs, and
 * the records of those that are over), because only the rows say how old they are.
 */
export async function collectJobs({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  const cutoffNs = nowNs - thresholds.jobNs;
  for await (const job of pace.through(tables.jobs.all())) {
    const key = namespacedKey(job.Namespace, job.ID);
    if (!isOver(job) || job.SubmitTime > cutoffNs || isTagged(tables, key)) continue;
    const evals = [...tables.evals.by('job', key)];
    const allocs = [...tables.allocs.by('job', key)];
    pace.alsoLookedAt(evals.length + allocs.length);
    if (!evals.every((e) => isTerminalEvaluation(e) && e.ModifyTime <= cutoffNs)) continue;
    if (!allocs.every((alloc) => isCollectable(alloc, job, nowNs, cutoffNs))) continue;
    await batches.addJob(
      job,
      evals.map(({ ID }) => ID),
      allocs.map(({ ID }) => ID),
    );
  }
}

/** Whether the job is over (GC-36). A job that launches others never is by itself. */
function isOver(job: Job): boolean {
  if (job.Periodic?.Enabled || isParameterized(job)) return job.Stop;
  return job.Status === 'dead' && (job.Stop || isBatchJob(job));
}

/** Whether a version of the job is tagged, so that a user may return to it (GC-40). */
function isTagged(tables: Tables, jobKey: string): boolean {
  for (const { VersionTag } of tables.job_version.by('job', jobKey)) if (VersionTag) return true;
  return false;
}
