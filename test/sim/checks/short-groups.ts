import {
  type Allocation,
  type Deployment,
  findTaskGroup,
  isActiveDeployment,
  isParameterized,
  isPeriodic,
  isServerTerminal,
  type Job,
  msFromNs,
  nsFromRfc3339,
} from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import { InvariantError } from './violation.js';

/**
 * At rest, a service runs as many allocations as it ran before the rollout of a newer version, whatever became of that
 * rollout and of the machines: unless no machine has room for them, which a blocked evaluation tells, or their delay is not
 * over. It looks at rows alone, and asks no scheduler. O(allocations, versions and deployments of services).
 * @throws InvariantError
 */
export function expectNoShortGroup(tables: Tables, nowMs: number): void {
  for (const job of tables.jobs.all()) {
    if (job.Type !== 'service' || job.Stop || isPeriodic(job) || isParameterized(job)) continue;
    for (const { Name } of job.TaskGroups) {
      const running = countOf(job, Name, tables);
      const owed = owedTo(job, Name, tables);
      if (running >= owed || isExpected(job, Name, tables, nowMs)) continue;
      throw new InvariantError('short-group', `group ${Name} of ${job.ID} has ${running} allocations of ${owed}`);
    }
  }
}

/** Those that are wanted and have not ended; canaries that wait stand beside them. */
function countOf(job: Job, group: string, tables: Tables): number {
  const counts = (alloc: Allocation): boolean =>
    alloc.TaskGroup === group &&
    !isServerTerminal(alloc) &&
    alloc.ClientStatus !== 'complete' &&
    alloc.ClientStatus !== 'lost' &&
    alloc.DeploymentStatus?.Canary !== true;
  return [...tables.allocs.by('job', keyOf(job))].filter(counts).length;
}

/** All that the version wants while nothing holds its rollout back; else at least what every version since the last stable one wants. */
function owedTo(job: Job, group: string, tables: Tables): number {
  const wanted = findTaskGroup(job, group);
  if (!wanted) return 0;
  if (!wanted.Update || wanted.Update.MaxParallel === 0 || goesOn(latestOf(job, tables), job, group))
    return wanted.Count;
  const former = [...tables.job_version.by('job', keyOf(job))]
    .filter(({ Version, CreateIndex }) => Version < job.Version && CreateIndex === job.CreateIndex)
    .toSorted((a, b) => b.Version - a.Version);
  const stableAt = former.findIndex(({ Stable }) => Stable);
  if (stableAt < 0) return 0;
  const since = former.slice(0, stableAt + 1);
  const counts = since.map((version) => (version.Stop ? 0 : (findTaskGroup(version, group)?.Count ?? 0)));
  return Math.min(wanted.Count, ...counts);
}

/** Whether the rollout of the job's version places all that its group wants. */
function goesOn(deployment: Deployment | undefined, job: Job, group: string): boolean {
  if (deployment?.JobVersion !== job.Version || deployment.JobCreateIndex !== job.CreateIndex) return false;
  const state = deployment.TaskGroups[group];
  if (!state || (state.DesiredCanaries > 0 && !state.Promoted)) return false;
  if (deployment.Status === 'successful') return true;
  return isActiveDeployment(deployment) && !['paused', 'pending', 'initializing'].includes(deployment.Status);
}

function latestOf(job: Job, tables: Tables): Deployment | undefined {
  return [...tables.deployment.by('job', keyOf(job))].toSorted((a, b) => b.CreateIndex - a.CreateIndex)[0];
}

/** There is no room for it, or a follow-up places it later. */
function isExpected(job: Job, group: string, tables: Tables, nowMs: number): boolean {
  for (const { Status, FailedTGAllocs, WaitUntil } of tables.evals.by('job', keyOf(job))) {
    const failed = Object.keys(FailedTGAllocs ?? {});
    if (Status === 'blocked' && (failed.length === 0 || failed.includes(group))) return true;
    if (Status === 'pending' && msFromNs(nsFromRfc3339(WaitUntil)) > nowMs) return true;
  }
  return false;
}

const keyOf = ({ Namespace, ID }: Job): string => namespacedKey(Namespace, ID);
