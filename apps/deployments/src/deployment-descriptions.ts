/** Exact texts that clients match (deployments.md 1.8). `Deployment is running` is in @waybill/model. */
export const PAUSED = 'Deployment is paused';
export const SUCCESSFUL = 'Deployment completed successfully';
export const FAILED_BY_HEALTH = 'Failed due to unhealthy allocations';
export const FAILED_BY_DEADLINE = 'Failed due to progress deadline';
export const FAILED_BY_USER = 'Deployment marked as failed';
export const FAILED_BY_PEER = 'Failed because of an error in peer region';
export const PENDING = 'Deployment is pending, waiting for peer region';
export const UNBLOCKING = 'Deployment is unblocking remaining regions';

/** Suffixes of a failed deployment's description. */
export const rollingBack = (version: number): string => ` - rolling back to job version ${version}`;
export const sameSpecification = (version: number): string =>
  ` - not rolling back to stable job version ${version} as current job has same specification`;
export const NO_STABLE_VERSION = ' - no stable job version to auto revert to';
