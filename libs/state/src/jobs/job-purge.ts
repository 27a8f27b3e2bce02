import type { Job } from '@waybill/model';
import { removeAllocation } from '../allocations/alloc-services.js';
import { countChild } from './job-summary.js';
import { removeScalingPolicies } from './scaling-policies.js';
import { submissionsOf, versionsOf } from './job-versions.js';
import { oldestFirst } from '../machine/row-order.js';
import { namespacedKey, versionKey } from '../machine/tables.js';
import type { Write } from '../machine/write.js';

/**
 * Removes a job and all records of its own (ST-65, ST-66), so that the same ID starts from empty. Evaluations stay for
 * garbage collection; pending ones are canceled. O(rows of the job).
 */
export function purgeJob(w: Write, job: Job): void {
  const key = namespacedKey(job.Namespace, job.ID);
  w.remove('jobs', key);
  for (const version of versionsOf(w, job.Namespace, job.ID)) {
    w.remove('job_version', versionKey(version.Namespace, version.ID, version.Version));
  }
  for (const text of submissionsOf(w, job.Namespace, job.ID)) {
    w.remove('job_submission', versionKey(text.Namespace, text.JobID, text.Version));
  }
  w.remove('job_summary', key);
  w.remove('periodic_launch', key);
  w.remove('scaling_event', key);
  removeScalingPolicies(w, job);
  for (const claim of oldestFirst(w.tables.task_volume.by('job', key))) w.remove('task_volume', claim.ID);
  for (const deployment of oldestFirst(w.tables.deployment.by('job', key))) w.remove('deployment', deployment.ID);
  for (const alloc of oldestFirst(w.tables.allocs.by('job', key))) removeAllocation(w, alloc.ID);
  for (const evaluation of oldestFirst(w.tables.evals.by('open', key))) {
    if (evaluation.Status !== 'pending') continue;
    w.put('evals', {
      ...evaluation,
      Status: 'complete',
      StatusDescription: `job ${job.ID} deleted`,
      ModifyIndex: w.index,
      ModifyTime: w.timeNs,
    });
  }
  countChild(w, job, job.Status, 'dead');
}
