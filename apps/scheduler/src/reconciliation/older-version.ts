import { findTaskGroup, type Allocation, type Job } from '@waybill/model';
import { namespacedKey, versionKey, type Tables } from '@waybill/state';
import { updateOf } from './rollout.js';

/** A former version of a job that a replacement is made of while canaries wait. */
export interface OlderVersion {
  readonly job: Job;
  /** The deployment that rolled it out; empty: none. */
  readonly deploymentId: string;
}

/**
 * SC-150: which version replaces an allocation that is no canary while canaries wait; undefined: the newest.
 * Cost: O(deployments of the job).
 */
export function olderVersionFor(
  previous: Allocation,
  group: string,
  job: Job,
  tables: Tables,
): OlderVersion | undefined {
  const rolledOut = newestRolledOut(group, job, tables);
  const found = rolledOut ?? withoutUpdateBlock(previous, group);
  if (!found || !findTaskGroup(found.job, group)) return undefined;
  const isBehind = previous.Job !== null && found.job.Version < previous.Job.Version;
  return isBehind || found.job.Version === job.Version ? undefined : found;
}

function newestRolledOut(group: string, job: Job, tables: Tables): OlderVersion | undefined {
  let newest: { version: number; id: string } | undefined;
  for (const deployment of tables.deployment.by('job', namespacedKey(job.Namespace, job.ID))) {
    const state = deployment.TaskGroups[group];
    const done = state !== undefined && (state.Promoted || state.DesiredCanaries === 0);
    if (!done || deployment.JobCreateIndex !== job.CreateIndex) continue;
    if (!newest || deployment.JobVersion > newest.version)
      newest = { version: deployment.JobVersion, id: deployment.ID };
  }
  const version = newest && tables.job_version.get(versionKey(job.Namespace, job.ID, newest.version));
  return newest && version ? { job: version, deploymentId: newest.id } : undefined;
}

function withoutUpdateBlock(previous: Allocation, group: string): OlderVersion | undefined {
  const { Job: job } = previous;
  return job && !updateOf(findTaskGroup(job, group)) ? { job, deploymentId: '' } : undefined;
}
