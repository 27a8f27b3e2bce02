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
   * Whether this deployment of a multiregion rollout was ever started. Absent means no. Only regions exchange it,
   * clients do not see it (DP-1118).
   */
  HasRun?: boolean;
  /**
   * ID of the registration that created this deployment of a multiregion rollout, equal in all regions. Absent in
   * deployments from before these IDs. If two users register at once, regions may hold different specifications under
   * the same version number, and the ID tells them apart. Only regions exchange it (DP-1115).
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

/** Progress of one group. `ProgressDeadline` is in nanoseconds, 0 for none. */
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

/** Returns the members of a deployment that identify its job version. */
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

/** Whether the deployment has not ended: it is watched, and a newer deployment of its job cancels it. */
export function isActiveDeployment(deployment: Pick<Deployment, 'Status'>): boolean {
  return deployment.Status !== 'failed' && deployment.Status !== 'successful' && deployment.Status !== 'cancelled';
}

/** Whether some group has canaries that wait to be promoted. */
export function requiresPromotion(deployment: Pick<Deployment, 'Status' | 'TaskGroups'>): boolean {
  if (deployment.Status !== 'running') return false;
  return Object.values(deployment.TaskGroups).some((state) => state.DesiredCanaries > 0 && !state.Promoted);
}

/** Whether every group with canaries promotes by itself. False if there is no such group. */
export function hasAutoPromote(deployment: Pick<Deployment, 'Status' | 'TaskGroups'>): boolean {
  if (deployment.Status !== 'running') return false;
  const withCanaries = Object.values(deployment.TaskGroups).filter((state) => state.DesiredCanaries > 0);
  return withCanaries.length > 0 && withCanaries.every((state) => state.AutoPromote);
}

/** Whether a canary counts towards promotion: it runs and is healthy (DP-851, DP-852). */
export function isHealthyCanary(
  alloc: Pick<Allocation, 'DesiredStatus' | 'ClientStatus' | 'DeploymentStatus'>,
): boolean {
  return alloc.DeploymentStatus?.Healthy === true && !isTerminalAllocation(alloc);
}
