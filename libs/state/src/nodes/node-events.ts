import { NS_PER_SECOND, rfc3339FromNs, type Node, type NodeEvent, Refusal } from '@waybill/model';
import type { Write } from '../machine/write.js';

/** Events kept of each node (ST-37). */
export const NODE_EVENTS_KEPT = 10;

/** The node's events with these appended, newest last; the oldest are dropped beyond the limit (ST-37). */
export function appendedEvents(w: Write, node: Pick<Node, 'Events'>, ...events: (NodeEvent | null)[]): NodeEvent[] {
  const added = events.filter((event) => event !== null).map((event) => ({ ...event, CreateIndex: w.index }));
  return added.length === 0 ? node.Events : [...node.Events, ...added].slice(-NODE_EVENTS_KEPT);
}

/** An event about the node's membership, at `unixSeconds`. */
export function clusterEvent(message: string, unixSeconds: number): NodeEvent {
  return {
    Message: message,
    Subsystem: 'Cluster',
    Details: null,
    Timestamp: rfc3339FromNs(unixSeconds * NS_PER_SECOND),
    CreateIndex: 0,
  };
}

/** The stored node. Refuses with `node not found` (ST-46, ST-48). */
export function storedNode(w: Write, nodeId: string): Node {
  const node = w.tables.nodes.get(nodeId);
  if (!node) throw new Refusal('not-found', 'node not found');
  return node;
}

/**
 * Type 25: stores node events, all or none (ST-46). The node's ModifyIndex stays, so that a blocking query on the node
 * does not return (ST-26).
 */
export function upsertNodeEvents(w: Write, payload: { NodeEvents: Record<string, NodeEvent[]> }): void {
  for (const [nodeId, events] of Object.entries(payload.NodeEvents)) {
    const node = storedNode(w, nodeId);
    if (events.length > 0) w.put('nodes', { ...node, Events: appendedEvents(w, node, ...events) });
  }
}
