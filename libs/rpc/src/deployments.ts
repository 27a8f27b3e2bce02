import type { Actor } from '@waybill/state';
import { call } from './call.js';
import { needsOfDeployment } from './user-needs.js';

/** The user for whom the transaction is written. It becomes part of its header. */
export interface OnBehalfOf {
  readonly Actor: Actor;
  readonly Reason: string;
  /** Request ID of the transaction, so that a repeated request counts once (DP-1806). */
  readonly RequestID: string;
}

interface DeploymentRequest {
  readonly DeploymentID: string;
  readonly For: OnBehalfOf;
}
export interface DeploymentPauseRequest extends DeploymentRequest {
  readonly Pause: boolean;
}
export interface DeploymentPromoteRequest extends DeploymentRequest {
  readonly All: boolean;
  readonly Groups: readonly string[];
  /** In unix ns. 0 for now. */
  readonly PromotedAt: number;
}
export interface DeploymentAllocHealthRequest extends DeploymentRequest {
  readonly HealthyAllocationIDs: readonly string[];
  readonly UnhealthyAllocationIDs: readonly string[];
}
export type DeploymentFailRequest = DeploymentRequest;
export type DeploymentUnblockRequest = DeploymentRequest;

/** Response of all of these calls (DP section 1.6). */
export interface DeploymentUpdateResponse {
  /** Empty, with index 0, if no evaluation was needed. */
  readonly EvalID: string;
  readonly EvalCreateIndex: number;
  readonly DeploymentModifyIndex: number;
  readonly RevertedJobVersion: number | null;
  readonly Index: number;
}

const role = 'deployments';
export const pauseDeployment = call<DeploymentPauseRequest, DeploymentUpdateResponse>('deployments.pause', {
  role,
  userNeeds: needsOfDeployment('submit-job', 'pause-deployment'),
});
export const promoteDeployment = call<DeploymentPromoteRequest, DeploymentUpdateResponse>('deployments.promote', {
  role,
  userNeeds: needsOfDeployment('submit-job', 'promote-deployment'),
});
export const failDeployment = call<DeploymentFailRequest, DeploymentUpdateResponse>('deployments.fail', {
  role,
  userNeeds: needsOfDeployment('submit-job', 'fail-deployment'),
});
export const unblockDeployment = call<DeploymentUnblockRequest, DeploymentUpdateResponse>('deployments.unblock', {
  role,
  userNeeds: needsOfDeployment('submit-job', 'unblock-deployment'),
});
export const setDeploymentAllocHealth = call<DeploymentAllocHealthRequest, DeploymentUpdateResponse>(
  'deployments.allocHealth',
  { role, userNeeds: needsOfDeployment('submit-job', 'set-alloc-health-deployment') },
);
