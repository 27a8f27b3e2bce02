import { type Clock, nsFromMs } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { type IndexResponse, type NodeEventsRequest, RpcError } from '@waybill/rpc';
import { draftTxn, isRejected } from '@waybill/state';
import { checkNodeEvents } from './machine-shapes.js';
import { cutEvent } from './machine-texts.js';
import { provenNode } from './node-access.js';

/** A node keeps no more than that (ND-162): more in one report would only be dropped at apply. */
export const MAX_EVENTS_PER_REPORT = 10;

/** Takes events an agent reports about its machine into the log (nodes.md section 10). Any replica answers; stateless. */
export class NodeEvents {
  constructor(
    private readonly state: ReplicatedState,
    private readonly clock: Clock,
    private readonly newId: () => string,
  ) {}

  /** @throws RpcError invalid without events, forbidden without proof of being that node (ND-160) */
  async emit(request: NodeEventsRequest, traceparent?: string): Promise<IndexResponse> {
    if (!request.Events?.length) throw new RpcError('invalid', `no node events given for node "${request.NodeID}"`);
    const node = provenNode(this.state.tables, request.NodeID, request.SecretID);
    checkNodeEvents(request.Events);
    const proposed = await this.state.propose(
      draftTxn(
        'UpsertNodeEvents',
        { NodeEvents: { [node.ID]: request.Events.slice(-MAX_EVENTS_PER_REPORT).map(cutEvent) } },
        {
          timeNs: nsFromMs(this.clock.nowMs()),
          requestId: this.newId(),
          actor: { Kind: 'node', ID: node.ID, Name: node.Name },
          traceparent,
        },
      ),
    );
    if (isRejected(proposed.verdict)) throw new RpcError('conflict', proposed.verdict.error);
    return { Index: proposed.index };
  }
}
