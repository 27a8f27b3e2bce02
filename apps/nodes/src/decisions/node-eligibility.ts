import { type Node, Refusal, type SchedulingEligibility } from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { newNodeEvent } from '../node/new-node-event.js';

export const isEligibility = (text: string): text is SchedulingEligibility =>
  text === 'eligible' || text === 'ineligible';

/**
 * The change of a node's eligibility; undefined if the node has it already (ND-91). @throws Refusal conflict while it
 * is draining (ND-90)
 */
export function eligibilityOf(
  Eligibility: SchedulingEligibility,
  node: Node,
  nowMs: number,
): Decision<'NodeUpdateEligibility'> | undefined {
  if (Eligibility === 'eligible' && node.DrainStrategy)
    throw new Refusal('conflict', "can not set node's scheduling eligibility to eligible while it is draining");
  if (node.SchedulingEligibility === Eligibility) return undefined;
  return {
    type: 'NodeUpdateEligibility',
    payload: {
      NodeID: node.ID,
      Eligibility,
      NodeEvent: newNodeEvent('Cluster', `Node marked as ${Eligibility} for scheduling`, nowMs),
      UpdatedAt: Math.floor(nowMs / 1_000),
    },
  };
}
