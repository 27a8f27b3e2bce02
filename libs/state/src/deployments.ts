import { updateDeploymentStatus } from './deployment-status.js';
import type { Appliers } from './applier.js';

/** Section 7.4. */
export const deploymentAppliers: Appliers<'DeploymentStatusUpdate'> = {
  DeploymentStatusUpdate: updateDeploymentStatus,
};
