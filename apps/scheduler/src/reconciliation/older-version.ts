import { findTaskGroup, type Allocation, type Job } from '@waybill/model';
import { namespacedKey, versionKey, type Tables } from '@waybill/state';
import { updateOf, waitsForItsTurn } from './rollout.js';

/** A former version of a job that is placed while the rollout of a newer one is held back. */
export interface OlderVersion {
  readonly job: Job;
  /** The deployment that rolled it out; empty if there was none. */
  readonly deploymentId: string;
}

/**
 * The job version of a placement that is no canary, while canaries wait or a region's turn has not come (SC-150);
 * undefined: the newest. If the deployment that would tell was collected, it is the newest stored version that ran.
 * Cost: O(deployments and versions of the job).
 *
 * @param previous the allocation that is replaced, if it is known
 */
export function olderVersionFor(
  previous: Allocation | undefined,
  group: string,
  job: Job,
  tables: Tables,
): OlderVersion | undefined {
  const found =
    newestRolledOut(group, job, tables) ?? withoutUpdateBlock(previous, group) ?? newestThatRan(group, job, tables);
  if (!found || !findTaskGroup(found.job, group)) return undefined;
  const isBehind = previous?.Job != null && found.job.Version < previous.Job.Version;
  return isBehind || found.job.Version === job.Version ? undefined : found;
}

/**
 * The version that ran a group before the job's current one, undefined if the job was stopped in between: then none of
 * its allocations is owed.
 */
export function versionBefore(group: string, job: Job, tables: Tables): Job | undefined {
  const found = olderVersionFor(undefined, group, job, tables)?.job;
  if (!found) return undefined;
  const since = versionsBefore(job, tables).filter(({ Version }) => Version >= found.Version);
  return since.some(({ Stop }) => Stop) ? undefined : found;
}

function newestRolledOut(group: string, job: Job, tables: Tables): OlderVersion | undefined {
  let newest: { version: number; id: string } | undefined;
  for (const deployment of tables.deployment.by('job', namespacedKey(job.Namespace, job.ID))) {
    const state = deployment.TaskGroups[group];
    const done = state !== undefined && (state.Promoted || state.DesiredCanaries === 0);
    if (!done || waitsForItsTurn(deployment) || deployment.JobCreateIndex !== job.CreateIndex) continue;
    if (deployment.JobVersion >= job.Version) continue;
    if (!newest || deployment.JobVersion > newest.version)
      newest = { version: deployment.JobVersion, id: deployment.ID };
  }
  const version = newest && tables.job_version.get(versionKey(job.Namespace, job.ID, newest.version));
  return newest && version ? { job: version, deploymentId: newest.id } : undefined;
}

function withoutUpdateBlock(previous: Allocation | undefined, group: string): OlderVersion | undefined {
  const job = previous?.Job;
  return job && !updateOf(findTaskGroup(job, group)) ? { job, deploymentId: '' } : undefined;
}

/**
 * The newest version that ran: a version without an update block runs at once, a version with one when its deployment
 * has succeeded and it is stable.
 */
function newestThatRan(group: string, job: Job, tables: Tables): OlderVersion | undefined {
  let newest: Job | undefined;
  for (const version of versionsBefore(job, tables)) {
    const stored = findTaskGroup(version, group);
    if (version.Stop || !stored || (updateOf(stored) && !version.Stable)) continue;
    if (!newest || version.Version > newest.Version) newest = version;
  }
  return newest && { job: newest, deploymentId: '' };
}

function versionsBefore(job: Job, tables: Tables): Job[] {
  const stored = [...tables.job_version.by('job', namespacedKey(job.Namespace, job.ID))];
  return stored.filter(({ CreateIndex, Version }) => CreateIndex === job.CreateIndex && Version < job.Version);
}
