/** Exact texts, because clients compare them (deployments.md 1.8). */
export const DEPLOYMENT_RUNNING = 'Deployment is running';
export const DEPLOYMENT_NEEDS_PROMOTION = 'Deployment is running but requires manual promotion';
export const DEPLOYMENT_AUTO_PROMOTION = 'Deployment is running pending automatic promotion';
export const DEPLOYMENT_PAUSED = 'Deployment is paused';
export const DEPLOYMENT_SUCCESSFUL = 'Deployment completed successfully';
export const DEPLOYMENT_STOPPED_JOB = 'Cancelled because job is stopped';
export const DEPLOYMENT_NEWER_JOB = 'Cancelled due to newer version of job';
export const DEPLOYMENT_UNHEALTHY = 'Failed due to unhealthy allocations';
export const DEPLOYMENT_OVERDUE = 'Failed due to progress deadline';
export const DEPLOYMENT_FAILED_BY_USER = 'Deployment marked as failed';
export const DEPLOYMENT_FAILED_BY_PEER = 'Failed because of an error in peer region';
export const DEPLOYMENT_PENDING_PEER = 'Deployment is pending, waiting for peer region';
export const DEPLOYMENT_BLOCKED_PEER = 'Deployment is complete but waiting for peer region';
export const DEPLOYMENT_UNBLOCKING = 'Deployment is unblocking remaining regions';
