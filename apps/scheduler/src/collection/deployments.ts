import { isActiveDeployment, isTerminalAllocation } from '@waybill/model';
import type { Scan } from './scan.js';

/**
 * The deployments that are over and have no allocation that lives (section 3.7): one that still has says what runs, and
 * where to go back to. O(deployments and their allocations).
 */
export async function collectDeployments({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  const cutoffNs = nowNs - thresholds.deploymentNs;
  for await (const deployment of pace.through(tables.deployment.all())) {
    if (isActiveDeployment(deployment) || deployment.ModifyTime > cutoffNs) continue;
    const allocs = [...tables.allocs.by('deployment', deployment.ID)];
    pace.alsoLookedAt(allocs.length);
    if (allocs.every(isTerminalAllocation)) await batches.deployment(deployment.ID);
  }
}
