import { type Clock, type Node, nsFromMs } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { type NodeCommandRequest, type NodeCommandResponse, type OnBehalfOf, RpcError } from '@waybill/rpc';
import { type DraftContext, draftTxn, isRejected } from '@waybill/state';
import { nodeNotFound } from './node-access.js';
import type { CreatedEvaluations, NodeEvaluations } from './node-evaluations.js';

/**
 * What users ask to be done with a node besides draining it: to forget it, to look at its jobs again. Any replica
 * answers; stateless. Cost: at most one transaction for the node, and one for its evaluations.
 */
export class NodeCommands {
  constructor(
    private readonly state: ReplicatedState,
    private readonly evaluations: NodeEvaluations,
    private readonly clock: Clock,
  ) {}

  /**
   * Deletes the node, alive or not, and has its jobs looked at (ND-140 to ND-143). An agent that is still there
   * registers again (ND-144).
   * @throws RpcError with the texts of ND-140
   */
  async purge(request: NodeCommandRequest, traceparent?: string): Promise<NodeCommandResponse> {
    if (!request.NodeID) throw new RpcError('invalid', 'missing node ID for client deregistration');
    const node = this.stored(request.NodeID);
    const proposed = await this.state.propose(
      draftTxn(
        'NodeDeregister',
        { NodeID: node.ID },
        { ...draftContext(request.For, traceparent), timeNs: nsFromMs(this.clock.nowMs()) },
      ),
    );
    // The only precondition is that it is there: another purge was quicker.
    if (isRejected(proposed.verdict)) throw nodeNotFound();
    const evals = await this.evaluations.create(node, proposed.index, traceparent);
    return this.answer(node, evals, proposed.index, proposed.index);
  }

  /** @throws RpcError with the texts of ND-24 */
  async evaluate(request: NodeCommandRequest, traceparent?: string): Promise<NodeCommandResponse> {
    if (!request.NodeID) throw new RpcError('invalid', 'missing node ID for evaluation');
    const node = this.stored(request.NodeID);
    const evals = await this.evaluations.createAgain(node, draftContext(request.For, traceparent));
    return this.answer(node, evals, node.ModifyIndex, evals.EvalCreateIndex);
  }

  private stored(nodeId: string): Node {
    const node = this.state.tables.nodes.get(nodeId);
    if (!node) throw nodeNotFound();
    return node;
  }

  private answer(node: Node, evals: CreatedEvaluations, NodeModifyIndex: number, Index: number): NodeCommandResponse {
    const { SchedulingEligibility } = node;
    return { ...evals, NodeModifyIndex, NumNodes: this.state.tables.nodes.size, SchedulingEligibility, Index };
  }
}

export function draftContext(
  { Actor, Reason, RequestID }: OnBehalfOf,
  traceparent: string | undefined,
): Omit<DraftContext, 'timeNs'> {
  return { actor: Actor, reason: Reason, requestId: RequestID, traceparent };
}
