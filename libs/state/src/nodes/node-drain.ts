import { NS_PER_SECOND, rfc3339FromNs, type DrainMetadata, type Node, Refusal } from '@waybill/model';
import type { TxnPayloads } from '../log/catalogue.js';
import { appendedEvents, storedNode } from './node-events.js';
import type { Write } from '../machine/write.js';

/** Type 3: begins, changes or cancels a drain (ST-41 to ST-44, ST-48). */
export function updateNodeDrain(w: Write, update: TxnPayloads['NodeUpdateDrain']): void {
  putDrain(w, storedNode(w, update.NodeID), update, 'canceled');
}

/**
 * Type 29: completes drains, as the drainer decided (ST-43). A node is left out if it was deleted, or if its drain was
 * canceled or begun anew meanwhile (DR-75, DR-99).
 */
export function completeDrains(w: Write, batch: TxnPayloads['BatchNodeUpdateDrain']): void {
  for (const [nodeId, ended] of Object.entries(batch.Updates)) {
    const node = w.tables.nodes.get(nodeId);
    if (!node?.DrainStrategy || node.DrainStrategy.StartedAt !== ended.StartedAt) continue;
    const NodeEvent = batch.NodeEvents[nodeId] ?? null;
    const update = { ...ended, NodeID: nodeId, NodeEvent, UpdatedAt: batch.UpdatedAt, Meta: {}, UpdatedBy: '' };
    putDrain(w, node, update, 'complete');
  }
}

function putDrain(
  w: Write,
  node: Node,
  update: TxnPayloads['NodeUpdateDrain'],
  endedAs: 'canceled' | 'complete',
): void {
  const eligibility = update.DrainStrategy
    ? 'ineligible'
    : update.MarkEligible
      ? 'eligible'
      : node.SchedulingEligibility;
  w.put('nodes', {
    ...node,
    DrainStrategy: update.DrainStrategy,
    SchedulingEligibility: eligibility,
    LastDrain: lastDrain(node, update, endedAs),
    StatusUpdatedAt: update.UpdatedAt,
    Events: appendedEvents(w, node, update.NodeEvent),
    ModifyIndex: w.index,
  });
}

/** Type 28: sets a node's eligibility (ST-45, ST-48). */
export function updateNodeEligibility(w: Write, update: TxnPayloads['NodeUpdateEligibility']): void {
  const node = storedNode(w, update.NodeID);
  if (update.Eligibility === 'eligible' && node.DrainStrategy) {
    throw new Refusal('conflict', "can not set node's scheduling eligibility to eligible while it is draining");
  }
  w.put('nodes', {
    ...node,
    SchedulingEligibility: update.Eligibility,
    StatusUpdatedAt: update.UpdatedAt,
    Events: appendedEvents(w, node, update.NodeEvent),
    ModifyIndex: w.index,
  });
}

/** The node's record of its last drain: started, changed, ended, or unchanged (ST-42 to ST-44). */
function lastDrain(
  node: Node,
  update: TxnPayloads['NodeUpdateDrain'],
  endedAs: 'canceled' | 'complete',
): DrainMetadata | null {
  const wasDraining = node.DrainStrategy !== null;
  const drains = update.DrainStrategy !== null;
  if (!wasDraining && !drains) return node.LastDrain;
  const at = rfc3339FromNs(update.UpdatedAt * NS_PER_SECOND);
  const meta = Object.keys(update.Meta).length > 0 ? update.Meta : null;
  const going = wasDraining ? node.LastDrain : null;
  return {
    StartedAt: going?.StartedAt ?? at,
    UpdatedAt: at,
    Status: drains ? 'draining' : endedAs,
    AccessorID: update.UpdatedBy || (going?.AccessorID ?? ''),
    Meta: meta ?? going?.Meta ?? null,
  };
}
