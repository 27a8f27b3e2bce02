import { isParameterized, isPeriodic, type Job, type Multiregion, type MultiregionRegion } from './job.js';

const ON_FAILURE = new Set(['', 'fail_all', 'fail_local']);

/** Returns the regions that a job is rolled out to, in order. Empty for a job of one region. */
export function regionsOf(job: Pick<Job, 'Multiregion'>): readonly MultiregionRegion[] {
  return job.Multiregion?.Regions ?? [];
}

export const isMultiregion = (job: Pick<Job, 'Multiregion'>): boolean => regionsOf(job).length > 0;

/**
 * Whether the job's regions wait for each other (DP-1108). Other jobs start in every region as soon as they are
 * registered.
 */
export function isRolledOutInOrder(job: Job): boolean {
  return isMultiregion(job) && job.Type === 'service' && !isPeriodic(job) && !isParameterized(job);
}

/** Returns the job in the form for one of its regions (DP-1106). */
export function jobInRegion(job: Job, region: MultiregionRegion): Job {
  const { Name, Count, Datacenters, NodePool, Meta } = region;
  return {
    ...job,
    Region: Name,
    Datacenters: Datacenters && Datacenters.length > 0 ? Datacenters : job.Datacenters,
    NodePool: NodePool || job.NodePool,
    Meta: Meta && Object.keys(Meta).length > 0 ? { ...job.Meta, ...Meta } : job.Meta,
    TaskGroups: job.TaskGroups.map((group) => (group.Count === 0 ? { ...group, Count } : group)),
  };
}

/** Returns the errors of a multiregion block (DP-1102). Whether the regions exist is not checked here. */
export function multiregionErrors({ Strategy, Regions }: Multiregion): string[] {
  const names = (Regions ?? []).map(({ Name }) => Name);
  const errors: string[] = [];
  if (names.length === 0) errors.push('Multiregion must have at least one region');
  const onFailure = Strategy?.OnFailure ?? '';
  if (!ON_FAILURE.has(onFailure))
    errors.push(`Multiregion on_failure "${onFailure}" is not "", "fail_all", "fail_local"`);
  const parallel = Strategy?.MaxParallel ?? 0;
  if (parallel < 0) errors.push(`Multiregion max_parallel can not be less than zero: ${parallel} < 0`);
  for (const [i, region] of (Regions ?? []).entries()) {
    if (region.Name === '') errors.push(`Multiregion region ${i + 1} missing name`);
    else if (names.indexOf(region.Name) < i)
      errors.push(`Multiregion region "${region.Name}" is listed more than once`);
    if (region.Count < 0)
      errors.push(`Multiregion region "${region.Name}" count can not be less than zero: ${region.Count} < 0`);
  }
  return errors;
}
