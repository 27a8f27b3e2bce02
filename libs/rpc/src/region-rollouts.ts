import type { DeploymentStatus } from '@waybill/model';
import { call } from './call.js';

/** Identifies one rollout in all regions, each of which has its own deployment for it (DP-1105). */
export interface RolloutName {
  readonly Namespace: string;
  readonly JobID: string;
  readonly JobVersion: number;
  /** The registration. Absent for any that created this version. */
  readonly Registration?: string | undefined;
}

/** A region's part of a rollout. */
export interface RegionRollout {
  readonly Status: DeploymentStatus | 'none';
  /** Empty if there is no deployment. */
  readonly DeploymentID: string;
  /** Whether the deployment was ever started (DP-1118). */
  readonly HasRun: boolean;
}

export interface RegionDeploymentRequest {
  readonly DeploymentID: string;
  /** The calling region. */
  readonly From: string;
}

export interface RegionDeploymentAnswer {
  readonly Status: DeploymentStatus;
}

const options = { role: 'deployments', betweenRegions: true } as const;
/** Returns the progress of a rollout in the called region (DP-1119). */
export const regionRollout = call<RolloutName, RegionRollout>('deployments.rollout', options);
/** Starts the waiting deployment of a region (DP-1114). */
export const runInRegion = call<RegionDeploymentRequest, RegionDeploymentAnswer>('deployments.run', options);
/** Ends a blocked deployment of a region as successful (DP-1117). */
export const unblockInRegion = call<RegionDeploymentRequest, RegionDeploymentAnswer>(
  'deployments.unblockRegion',
  options,
);
/** Tells a region that the rollout has changed elsewhere, so that it evaluates the rollout again (DP-1119). */
export const rolloutChanged = call<RolloutName, null>('deployments.rolloutChanged', options);
