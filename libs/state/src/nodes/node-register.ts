import { type Node, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { appendedEvents, clusterEvent } from './node-events.js';
import { createNodePool } from './node-pools.js';
import { isUnresponsive } from './node-status.js';
import type { Write } from '../machine/write.js';

/**
 * Type 0: registers a node (ST-30 to ST-33, ST-36). Its plugins and host volumes follow (plugin-catalogue.ts,
 * host-volumes.ts).
 */
export function registerNode(w: Write, { Node: given, CreateNodePool }: TxnPayloads['NodeRegister']): void {
  if (CreateNodePool && !w.tables.node_pools.has(given.NodePool)) createNodePool(w, given.NodePool);
  const stored = w.tables.nodes.get(given.ID);
  w.put('nodes', stored ? updatedNode(w, stored, given) : newNode(w, given));
}

/** Type 1: deletes a node. Refuses an unknown node. */
export function deregisterNode(w: Write, { NodeID }: TxnPayloads['NodeDeregister']): void {
  if (!w.remove('nodes', NodeID)) throw new Refusal('not-found', `node not found: ${NodeID}`);
}

/**
 * Type 31: deletes nodes, without those that are gone or were written since the scan: a node that came back stays
 * (ST-16).
 */
export function deregisterNodes(w: Write, { NodeIDs, ScanIndex }: TxnPayloads['NodeBatchDeregister']): void {
  if (NodeIDs.length === 0) throw new Refusal('invalid', 'node ids missing');
  for (const id of NodeIDs) {
    const node = w.tables.nodes.get(id);
    if (node && node.ModifyIndex <= ScanIndex) w.remove('nodes', id);
  }
}

function newNode(w: Write, given: Node): Node {
  return {
    ...given,
    Events: appendedEvents(w, { Events: [] }, clusterEvent('Node registered', given.StatusUpdatedAt)),
    CreateIndex: w.index,
    ModifyIndex: w.index,
  };
}

function updatedNode(w: Write, stored: Node, given: Node): Node {
  const cameBack = stored.Status === 'down' && given.Status !== 'down';
  const went = !isUnresponsive(stored.Status) && isUnresponsive(given.Status);
  return {
    ...given,
    Events: appendedEvents(w, stored, cameBack ? clusterEvent('Node re-registered', given.StatusUpdatedAt) : null),
    SchedulingEligibility: stored.SchedulingEligibility,
    DrainStrategy: stored.DrainStrategy,
    LastDrain: stored.LastDrain,
    LastMissedHeartbeatIndex: went
      ? w.index
      : Math.max(stored.LastMissedHeartbeatIndex, given.LastMissedHeartbeatIndex),
    LastAllocUpdateIndex: Math.max(stored.LastAllocUpdateIndex, given.LastAllocUpdateIndex),
    CreateIndex: stored.CreateIndex,
    ModifyIndex: w.index,
  };
}
