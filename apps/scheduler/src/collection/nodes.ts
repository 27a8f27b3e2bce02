import { isTerminalAllocation, NS_PER_SECOND } from '@waybill/model';
import type { Scan } from './scan.js';

/**
 * Collects nodes that have been down for long and whose work the scheduler has replaced (section 3.8). Ended
 * allocations may remain. O(nodes and the allocations of those that are down).
 */
export async function collectNodes({ tables, nowNs, thresholds, batches, pace }: Scan): Promise<void> {
  const cutoffNs = nowNs - thresholds.nodeNs;
  for await (const node of pace.through(tables.nodes.all())) {
    if (node.Status !== 'down' || node.StatusUpdatedAt * NS_PER_SECOND > cutoffNs) continue;
    const allocs = [...tables.allocs.by('node', node.ID)];
    pace.alsoLookedAt(allocs.length);
    if (allocs.every(isTerminalAllocation)) await batches.addNode(node.ID);
  }
}
