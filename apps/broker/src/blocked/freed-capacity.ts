import { isReadyNode, volumeResource } from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';

/** What an unblock is logged under (a class of nodes, a resource that is tied to none), and when it may have been. */
export interface FreedCapacity {
  readonly key: string;
  readonly index: number;
}

/**
 * What may have made room behind an index, read from the rows that stand there now: a node that can be placed on, an
 * allocation that ended, a volume, a job that was purged, of which nothing says any more where it ran. A row says only
 * when it was last written, so this is too much rather than too little.
 * O(nodes, allocations, evaluations and volumes).
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

/** Index of the newest evaluation of a deregistration whose job is not there any more, or is another one; 0: none. */
function lastPurge(tables: Tables): number {
  let last = 0;
  for (const { TriggeredBy, Namespace, JobID, CreateIndex, ModifyIndex } of tables.evals.all()) {
    if (TriggeredBy !== 'job-deregister' || ModifyIndex <= last) continue;
    const job = tables.jobs.get(namespacedKey(Namespace, JobID));
    if (!job || job.CreateIndex > CreateIndex) last = ModifyIndex;
  }
  return last;
}
