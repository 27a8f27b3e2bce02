import type { Allocation } from '@waybill/model';

/**
 * The allocation as part of a deployment: an updated allocation belongs to the deployment of its update, in which it
 * has to become healthy again (SC-243).
 */
export function inDeployment(alloc: Allocation, deploymentId: string): Allocation {
  if (deploymentId === '' || alloc.DeploymentID === deploymentId) return alloc;
  return { ...alloc, DeploymentID: deploymentId, DeploymentStatus: null };
}
