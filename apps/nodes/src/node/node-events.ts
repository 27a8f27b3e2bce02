import { Refusal } from '@waybill/model';
import { asNode, type TransactionWriter } from '@waybill/writing';
import type { ReplicatedState } from '@waybill/replica';
import type { IndexResponse, NodeEventsRequest } from '@waybill/rpc';
import { checkNodeEvents } from './machine-shapes.js';
import { cutEvent } from './machine-texts.js';
import { provenNode } from './node-access.js';

/** A node keeps no more events than this (ND-162), so more in one report would be dropped when applied. */
export const MAX_EVENTS_PER_REPORT = 10;

/** Writes agents' events about their machines to the log (nodes.md section 10). Any replica answers; stateless. */
export class NodeEvents {
  constructor(
    private readonly state: ReplicatedState,
    private readonly writer: TransactionWriter,
  ) {}

  /** @throws Refusal invalid if there are no events, forbidden without proof of being that node (ND-160) */
  async emit(request: NodeEventsRequest, traceparent?: string): Promise<IndexResponse> {
    if (!request.Events?.length) throw new Refusal('invalid', `no node events given for node "${request.NodeID}"`);
    const node = provenNode(this.state.tables, request.NodeID, request.SecretID);
    checkNodeEvents(request.Events);
    const payload = { NodeEvents: { [node.ID]: request.Events.slice(-MAX_EVENTS_PER_REPORT).map(cutEvent) } };
    const { index } = await this.writer.write({ type: 'UpsertNodeEvents', payload }, asNode(node, traceparent));
    return { Index: index };
  }
}
