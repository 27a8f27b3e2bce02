import type { Appliers } from './state-machine.js';

export const deploymentAppliers: Appliers<'DeploymentStatusUpdate'> = {
  DeploymentStatusUpdate() {
    throw new Error('DeploymentStatusUpdate has no applier yet');
  },
};
