import {
  type Allocation,
  isTerminalAllocation,
  type Job,
  type JobScalingEvents,
  type ScalingEvent,
} from '@waybill/model';

export interface GroupScaleStatus {
  readonly Desired: number;
  readonly Placed: number;
  readonly Running: number;
  readonly Healthy: number;
  readonly Unhealthy: number;
  readonly Events: readonly ScalingEvent[] | null;
}

export interface JobScaleStatus {
  readonly JobID: string;
  readonly Namespace: string;
  readonly JobCreateIndex: number;
  /** The job's `ModifyIndex`. */
  readonly JobModifyIndex: number;
  readonly JobStopped: boolean;
  readonly TaskGroups: Record<string, GroupScaleStatus>;
}

/**
 * Returns the state of each group for an autoscaler (API-174). @param allocs allocations of any incarnation of the job
 */
export function scaleStatusOf(
  job: Job,
  allocs: readonly Allocation[],
  events: JobScalingEvents | undefined,
): JobScaleStatus {
  const own = allocs.filter((alloc) => alloc.Job?.CreateIndex === job.CreateIndex);
  const groups = job.TaskGroups.map((group): [string, GroupScaleStatus] => {
    const counted = own.filter((alloc) => alloc.TaskGroup === group.Name && isCounted(alloc));
    const count = (is: (alloc: Allocation) => boolean): number => counted.filter(is).length;
    const status = {
      Desired: group.Count,
      Placed: counted.length,
      Running: count(({ ClientStatus }) => ClientStatus === 'running'),
      Healthy: count(({ DeploymentStatus }) => DeploymentStatus?.Healthy === true),
      Unhealthy: count(({ DeploymentStatus }) => DeploymentStatus?.Healthy === false),
      Events: events?.ScalingEvents[group.Name] ?? null,
    };
    return [group.Name, status];
  });
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    JobCreateIndex: job.CreateIndex,
    JobModifyIndex: job.ModifyIndex,
    JobStopped: job.Stop,
    TaskGroups: Object.fromEntries(groups),
  };
}

const isCounted = (alloc: Allocation): boolean => !isTerminalAllocation(alloc) && !alloc.DeploymentStatus?.Canary;

/** Returns an index that grows when the job, its allocations or its scaling events change (API-174). */
export function scaleStatusIndex(
  job: Job,
  allocs: readonly Allocation[],
  events: JobScalingEvents | undefined,
): number {
  return allocs.reduce(
    (max, alloc) => Math.max(max, alloc.ModifyIndex),
    Math.max(job.ModifyIndex, events?.ModifyIndex ?? 0),
  );
}
