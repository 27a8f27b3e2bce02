import { isReadyNode, volumeResource } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';

/** The key of an unblock (a node class, or a resource of no node), and the index at which it may have happened. */
export interface FreedCapacity {
  readonly key: string;
  readonly index: number;
}

/**
 * Unblocks that a new holder may have missed: capacity that may have been freed after an index, derived from the stored
 * rows: ready nodes, allocations that ended, volumes, and jobs that were purged, whose former places no row names. A row
 * says only when it was last written, so the result may contain more than was freed, and never less. O(nodes,
 * allocations, evaluations and volumes).
 */
export function* freedSince(tables: Tables, since: number): IterableIterator<FreedCapacity> {
  for (const node of tables.nodes.all())
    if (node.ModifyIndex > since && isReadyNode(node)) yield { key: node.ComputedClass, index: node.ModifyIndex };
  for (const { NodeID, ClientStatus, ModifyIndex: index } of tables.allocs.all()) {
    if (index <= since || (ClientStatus !== 'complete' && ClientStatus !== 'failed')) continue;
    const node = tables.nodes.get(NodeID);
    if (node) yield { key: node.ComputedClass, index };
  }
  const purgedAt = lastPurge(tables);
  if (purgedAt > since) for (const { ComputedClass: key } of tables.nodes.all()) yield { key, index: purgedAt };
  for (const { Namespace, ID, ModifyIndex: index } of tables.csi_volumes.all())
    if (index > since) yield { key: volumeResource(Namespace, ID), index };
}

/** Index of the newest deregistration whose job no longer exists or was registered anew; 0: there was none. */
function lastPurge(tables: Tables): number {
  let last = 0;
  for (const { TriggeredBy, Namespace, JobID, CreateIndex, ModifyIndex } of tables.evals.all()) {
    if (TriggeredBy !== 'job-deregister' || ModifyIndex <= last) continue;
    const job = tables.jobs.get(namespacedKey(Namespace, JobID));
    if (!job || job.CreateIndex > CreateIndex) last = ModifyIndex;
  }
  return last;
}
