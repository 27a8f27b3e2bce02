import type { Node, NodeStatus } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { appendedEvents, storedNode } from './node-events.js';
import type { Write } from '../machine/write.js';

/**
 * Whether the node is lost: its last reports are not reliable, and it must heartbeat before it reports again (ST-105).
 */
export function isUnresponsive(status: NodeStatus): boolean {
  return status === 'down' || status === 'disconnected';
}

/** Type 2: sets a node's status (ST-38, ST-39). */
export function updateNodeStatus(w: Write, update: TxnPayloads['NodeUpdateStatus']): void {
  const node = storedNode(w, update.NodeID);
  w.put('nodes', {
    ...node,
    Status: update.Status,
    StatusUpdatedAt: update.UpdatedAt,
    IdentitySigningKeyID: update.IdentitySigningKeyID || node.IdentitySigningKeyID,
    LastMissedHeartbeatIndex: missedHeartbeatIndex(w, node, update.Status),
    Events: appendedEvents(w, node, update.NodeEvent),
    ModifyIndex: w.index,
  });
}

function missedHeartbeatIndex(w: Write, node: Node, next: NodeStatus): number {
  if (isUnresponsive(next) && !isUnresponsive(node.Status)) return w.index;
  if (next === 'ready' && node.Status !== 'ready') return 0;
  return node.LastMissedHeartbeatIndex;
}
