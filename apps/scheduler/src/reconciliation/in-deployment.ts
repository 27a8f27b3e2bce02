import type { Allocation } from '@waybill/model';

/** SC-243: an updated allocation belongs to the deployment of its update, where its health has to be proven again. */
export function inDeployment(alloc: Allocation, deploymentId: string): Allocation {
  if (deploymentId === '' || alloc.DeploymentID === deploymentId) return alloc;
  return { ...alloc, DeploymentID: deploymentId, DeploymentStatus: null };
}
