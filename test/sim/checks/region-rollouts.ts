import { nextSteps, progressHere, type RegionProgress, rolledOutJob } from '@waybill/deployments';
import { type Deployment, isActiveDeployment, type Job, regionsOf } from '@waybill/model';
import { namespacedKey, type Tables, versionKey } from '@waybill/state';
import type { Cluster } from '../cluster.js';

/**
 * What a rollout over several regions may wait for without end: users have paused it, have not promoted it, or there is no
 * room; a region has failed, was stopped alone or has no such version (DP-1112, DP-1124 to DP-1126).
 */
const HOLDS_UP: ReadonlySet<RegionProgress['status']> = new Set(['paused', 'running', 'failed', 'cancelled', 'none']);

/** In words, what regions still have to do together; undefined: nothing. O(deployments and jobs). */
export function openBetweenRegions(clusters: readonly Cluster[]): string | undefined {
  if (clusters.length === 1) return undefined;
  const tablesOf = new Map(clusters.map(({ world, tables }) => [world.region, tables]));
  for (const [region, tables] of tablesOf) {
    for (const deployment of tables.deployment.all()) {
      const open = deployment.IsMultiregion && openRollout(tablesOf, region, deployment);
      if (open) return `rollout of ${deployment.JobID} version ${deployment.JobVersion} in ${region}: ${open}`;
    }
    for (const job of tables.jobs.all()) {
      const left = regionNotLeft(tablesOf, region, job);
      if (left) return `job ${job.ID} runs on in ${left}, which it does not list any more`;
    }
  }
  return undefined;
}

function openRollout(
  tablesOf: ReadonlyMap<string, Tables>,
  region: string,
  deployment: Deployment,
): string | undefined {
  const tables = tablesOf.get(region);
  if (!tables || !isActiveDeployment(deployment)) return undefined;
  if (deployment.Status === 'initializing') return 'it is not planned';
  const job = rolledOutJob(tables, deployment);
  const progress = regionsOf(job).map(({ Name }) => progressIn(tablesOf.get(Name), Name, deployment));
  const { MaxParallel = 0, OnFailure = '' } = job.Multiregion?.Strategy ?? {};
  const [step] = nextSteps(region, progress, { maxParallel: MaxParallel, onFailure: OnFailure });
  if (step) return `next step "${step.do}"`;
  return progress.some(({ status }) => HOLDS_UP.has(status)) ? undefined : `${deployment.Status} for nothing`;
}

function progressIn(tables: Tables | undefined, name: string, of: Deployment): RegionProgress {
  if (!tables) return { name, status: 'none', hasRun: false };
  const { Status, HasRun } = progressHere(tables, of);
  return { name, status: Status, hasRun: HasRun };
}

/**
 * DP-1113: the first region of the list sees to it that those it has left stop the job. One that goes its own way, with a
 * newer version or one that does not list the first region, keeps it, and one where somebody started it again.
 */
function regionNotLeft(tablesOf: ReadonlyMap<string, Tables>, region: string, job: Job): string | undefined {
  const listed = regionsOf(job).map(({ Name }) => Name);
  if (listed[0] !== region) return undefined;
  const key = namespacedKey(job.Namespace, job.ID);
  const versions = [...(tablesOf.get(region)?.job_version.by('job', key) ?? [])];
  const former = versions.filter((one) => one.CreateIndex === job.CreateIndex && one.Version < job.Version);
  for (const { Name } of former.flatMap((one) => regionsOf(one))) {
    const left = listed.includes(Name) ? undefined : tablesOf.get(Name);
    const there = left?.jobs.get(key);
    const isOurs = there && regionsOf(there).some((listedThere) => listedThere.Name === region);
    if (isOurs && !there.Stop && there.Version <= job.Version && !wasStartedAgain(left, there)) return Name;
  }
  return undefined;
}

const wasStartedAgain = (tables: Tables | undefined, { Namespace, ID, Version, CreateIndex }: Job): boolean => {
  const before = tables?.job_version.get(versionKey(Namespace, ID, Version - 1));
  return before?.CreateIndex === CreateIndex && before.Stop;
};
