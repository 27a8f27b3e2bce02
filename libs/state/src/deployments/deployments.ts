import { deleteDeployments } from '../jobs/collection.js';
import { setAllocHealth } from './deployment-alloc-health.js';
import { promoteDeployment } from './deployment-promotion.js';
import { updateDeploymentStatus } from './deployment-status.js';
import type { Appliers } from '../machine/applier.js';

/** Appliers of deployments (section 7.4). */
export const deploymentAppliers: Appliers<
  'DeploymentStatusUpdate' | 'DeploymentPromote' | 'DeploymentAllocHealth' | 'DeploymentDelete'
> = {
  DeploymentStatusUpdate: updateDeploymentStatus,
  DeploymentPromote: promoteDeployment,
  DeploymentAllocHealth: setAllocHealth,
  DeploymentDelete: deleteDeployments,
};
