import type { DeploymentStatus } from '@waybill/model';
import { call } from './call.js';

/** What names one rollout in every region: each has a deployment of its own for it (DP-1105). */
export interface RolloutName {
  readonly Namespace: string;
  readonly JobID: string;
  readonly JobVersion: number;
  /** Of which registration; absent: of any that made this version. */
  readonly Registration?: string | undefined;
}

/** A region's part of a rollout. */
export interface RegionRollout {
  readonly Status: DeploymentStatus | 'none';
  /** "": there is none. */
  readonly DeploymentID: string;
  /** Whether it was ever started (DP-1118). */
  readonly HasRun: boolean;
}

export interface RegionDeploymentRequest {
  readonly DeploymentID: string;
  /** Region that asks. */
  readonly From: string;
}

export interface RegionDeploymentAnswer {
  readonly Status: DeploymentStatus;
}

const options = { role: 'deployments', betweenRegions: true } as const;
/** DP-1119: how far the region is. */
export const regionRollout = call<RolloutName, RegionRollout>('deployments.rollout', options);
/** Starts the waiting deployment of a region (DP-1114). */
export const runInRegion = call<RegionDeploymentRequest, RegionDeploymentAnswer>('deployments.run', options);
/** Ends a blocked deployment of a region as successful (DP-1117). */
export const unblockInRegion = call<RegionDeploymentRequest, RegionDeploymentAnswer>(
  'deployments.unblockRegion',
  options,
);
/** DP-1119: something has changed elsewhere; look again. */
export const rolloutChanged = call<RolloutName, null>('deployments.rolloutChanged', options);
