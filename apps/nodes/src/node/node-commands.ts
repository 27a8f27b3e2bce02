import { storedNode } from './node-access.js';
import { onBehalfOf, type TransactionWriter } from '@waybill/writing';
import { type Node, Refusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { NodeCommandRequest, NodeCommandResponse } from '@waybill/rpc';
import type { CreatedEvaluations, NodeEvaluations } from './node-evaluations.js';

/**
 * Users' commands that purge a node, or evaluate its jobs again. Any replica answers; stateless. Cost: at most one
 * transaction for the node, and one for its evaluations.
 */
export class NodeCommands {
  constructor(
    private readonly state: ReplicatedState,
    private readonly evaluations: NodeEvaluations,
    private readonly writer: TransactionWriter,
  ) {}

  /**
   * Deletes the node, alive or not, and evaluates its jobs (ND-140 to ND-143). A running agent registers again
   * (ND-144). @throws Refusal with the texts of ND-140
   */
  async purge(request: NodeCommandRequest, traceparent?: string): Promise<NodeCommandResponse> {
    if (!request.NodeID) throw new Refusal('invalid', 'missing node ID for client deregistration');
    const node = storedNode(this.state.tables.nodes, request.NodeID);
    const decision = { type: 'NodeDeregister', payload: { NodeID: node.ID } } as const;
    const { index } = await this.writer.write(decision, onBehalfOf(request.For, traceparent));
    const evals = await this.evaluations.create(node, index, traceparent);
    return this.answer(node, evals, index, index);
  }

  /** @throws Refusal with the texts of ND-24 */
  async evaluate(request: NodeCommandRequest, traceparent?: string): Promise<NodeCommandResponse> {
    if (!request.NodeID) throw new Refusal('invalid', 'missing node ID for evaluation');
    const node = storedNode(this.state.tables.nodes, request.NodeID);
    const evals = await this.evaluations.createAgain(node, onBehalfOf(request.For, traceparent));
    return this.answer(node, evals, node.ModifyIndex, evals.EvalCreateIndex);
  }

  private answer(node: Node, evals: CreatedEvaluations, NodeModifyIndex: number, Index: number): NodeCommandResponse {
    const { SchedulingEligibility } = node;
    return { ...evals, NodeModifyIndex, NumNodes: this.state.tables.nodes.size, SchedulingEligibility, Index };
  }
}
