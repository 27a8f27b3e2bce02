import { isReadyNode, volumeResource } from '@waybill/model';
import type { Tables } from '@waybill/state';

/** What an unblock is logged under (a class of nodes, a resource that is tied to none), and when it may have been. */
export interface FreedCapacity {
  readonly key: string;
  readonly index: number;
}

/**
 * What may have made room behind an index, read from the rows that stand there now: a node that can be placed on, an
 * allocation that ended, a volume. A row says only when it was last written, so this is too much rather than too little.
 * O(nodes, allocations and volumes).
 */
export function* freedSince(tables: Tables, since: number): IterableIterator<FreedCapacity> {
  for (const node of tables.nodes.all())
    if (node.ModifyIndex > since && isReadyNode(node)) yield { key: node.ComputedClass, index: node.ModifyIndex };
  for (const { NodeID, ClientStatus, ModifyIndex: index } of tables.allocs.all()) {
    if (index <= since || (ClientStatus !== 'complete' && ClientStatus !== 'failed')) continue;
    const node = tables.nodes.get(NodeID);
    if (node) yield { key: node.ComputedClass, index };
  }
  for (const { Namespace, ID, ModifyIndex: index } of tables.csi_volumes.all())
    if (index > since) yield { key: volumeResource(Namespace, ID), index };
}
