import { type DrainStrategy, msFromNs, type Node, rfc3339FromMs } from '@waybill/model';
import type { NodeDrainRequest } from '@waybill/rpc';
import type { Decision } from '@waybill/writing';
import { newNodeEvent } from '../node/new-node-event.js';

/** Begins, changes or ends the drain of a node (DR-2 to DR-11). */
export function drainOf(request: NodeDrainRequest, node: Node, nowMs: number): Decision<'NodeUpdateDrain'> {
  const DrainStrategy = strategyOf(request, node, nowMs);
  const message = drainMessage(node.DrainStrategy, DrainStrategy);
  return {
    type: 'NodeUpdateDrain',
    payload: {
      NodeID: node.ID,
      DrainStrategy,
      MarkEligible: DrainStrategy === null && request.MarkEligible,
      NodeEvent: message === undefined ? null : newNodeEvent('Drain', message, nowMs),
      UpdatedAt: Math.floor(nowMs / 1_000),
      Meta: { ...request.Meta },
      UpdatedBy: request.UpdatedBy,
    },
  };
}

/** The drain to store; null ends a drain. A changed drain keeps its start, and its deadline counts from now (DR-2 to DR-4). */
function strategyOf({ DrainSpec }: NodeDrainRequest, node: Node, nowMs: number): DrainStrategy | null {
  if (!DrainSpec) return null;
  const { Deadline, IgnoreSystemJobs } = DrainSpec;
  return {
    Deadline,
    IgnoreSystemJobs,
    ForceDeadline: Deadline > 0 ? rfc3339FromMs(nowMs + msFromNs(Deadline)) : null,
    StartedAt: node.DrainStrategy?.StartedAt ?? rfc3339FromMs(nowMs),
  };
}

/** The event that operators see at the node; undefined when no drain was on and none begins (DR-7). */
function drainMessage(before: DrainStrategy | null, after: DrainStrategy | null): string | undefined {
  if (after) return before ? 'Node drain strategy updated' : 'Node drain strategy set';
  return before ? 'Node drain disabled' : undefined;
}
