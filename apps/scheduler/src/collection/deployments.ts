import { isActiveDeployment, isTerminalAllocation } from '@waybill/model';
import type { Scan } from './scan.js';

/**
 * Collects deployments that are over and have no living allocation (section 3.7): a living one needs its deployment,
 * which says what runs and what to revert to. O(deployments and their allocations).
 */
export async function collectDeployments({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  const cutoffNs = nowNs - thresholds.deploymentNs;
  for await (const deployment of pace.through(tables.deployment.all())) {
    if (isActiveDeployment(deployment) || deployment.ModifyTime > cutoffNs) continue;
    const allocs = [...tables.allocs.by('deployment', deployment.ID)];
    pace.alsoLookedAt(allocs.length);
    if (allocs.every(isTerminalAllocation)) await batches.addDeployment(deployment.ID);
  }
}
