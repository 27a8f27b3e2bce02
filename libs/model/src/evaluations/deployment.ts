import { isTerminalAllocation, type Allocation } from './allocation.js';
import type { Job } from '../jobs/job.js';

export type DeploymentStatus =
  | 'running'
  | 'paused'
  | 'failed'
  | 'successful'
  | 'cancelled'
  | 'pending'
  | 'blocked'
  | 'unblocking'
  | 'initializing';

/** The rollout of one job version. `CreateTime` and `ModifyTime` in unix nanoseconds. */
export interface Deployment {
  ID: string;
  Namespace: string;
  JobID: string;
  JobVersion: number;
  JobModifyIndex: number;
  JobSpecModifyIndex: number;
  JobCreateIndex: number;
  IsMultiregion: boolean;
  /**
   * Whether one that is part of a multiregion rollout was ever started; absent: no. Between regions only, clients do not
   * see it (DP-1118).
   */
  HasRun?: boolean;
  /**
   * The registration that one that is part of a multiregion rollout came with, the same in all its regions; absent: of one
   * from before there were such ids. Two users who register at once may leave one region with the version of the one, and
   * another with that of the other under the same number. Between regions only (DP-1115).
   */
  Registration?: string;
  TaskGroups: Record<string, DeploymentState>;
  Status: DeploymentStatus;
  StatusDescription: string;
  EvalPriority: number;
  CreateIndex: number;
  ModifyIndex: number;
  CreateTime: number;
  ModifyTime: number;
}

/** `ProgressDeadline` in nanoseconds, 0 = none. */
export interface DeploymentState {
  AutoRevert: boolean;
  AutoPromote: boolean;
  ProgressDeadline: number;
  RequireProgressBy: string | null;
  Promoted: boolean;
  PlacedCanaries: string[];
  DesiredCanaries: number;
  DesiredTotal: number;
  PlacedAllocs: number;
  HealthyAllocs: number;
  UnhealthyAllocs: number;
}

export interface DeploymentStatusUpdate {
  DeploymentID: string;
  Status: DeploymentStatus;
  StatusDescription: string;
}

/** What a deployment says of the job it rolls out. */
export function deployedJob(job: Job) {
  return {
    Namespace: job.Namespace,
    JobID: job.ID,
    JobVersion: job.Version,
    JobModifyIndex: job.ModifyIndex,
    JobSpecModifyIndex: job.JobModifyIndex,
    JobCreateIndex: job.CreateIndex,
  } as const satisfies Partial<Deployment>;
}

/** Not over yet: it is watched and a newer one of its job cancels it. */
export function isActiveDeployment(deployment: Pick<Deployment, 'Status'>): boolean {
  return deployment.Status !== 'failed' && deployment.Status !== 'successful' && deployment.Status !== 'cancelled';
}

/** Some group has canaries that wait to be promoted. */
export function requiresPromotion(deployment: Pick<Deployment, 'Status' | 'TaskGroups'>): boolean {
  if (deployment.Status !== 'running') return false;
  return Object.values(deployment.TaskGroups).some((state) => state.DesiredCanaries > 0 && !state.Promoted);
}

/** Every group with canaries promotes by itself (and there is at least one). */
export function hasAutoPromote(deployment: Pick<Deployment, 'Status' | 'TaskGroups'>): boolean {
  if (deployment.Status !== 'running') return false;
  const withCanaries = Object.values(deployment.TaskGroups).filter((state) => state.DesiredCanaries > 0);
  return withCanaries.length > 0 && withCanaries.every((state) => state.AutoPromote);
}

/** Counts towards promotion: it lives and is healthy (DP-851, DP-852). */
export function isHealthyCanary(
  alloc: Pick<Allocation, 'DesiredStatus' | 'ClientStatus' | 'DeploymentStatus'>,
): boolean {
  return alloc.DeploymentStatus?.Healthy === true && !isTerminalAllocation(alloc);
}
