import { onBehalfOf, type Decision, type TransactionWriter } from '@waybill/writing';
import { seenNode } from '../node/seen-node.js';
import { eligibilityOf, isEligibility } from '../decisions/node-eligibility.js';
import { drainOf } from '../decisions/node-drain.js';
import { type Node, Refusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type {
  NodeCommandResponse,
  NodeDrainRequest,
  NodeEligibilityRequest,
  SelfDrainRequest,
  SelfDrainState,
  SelfDrainStateRequest,
} from '@waybill/rpc';
import { catchUp } from '../allocations/catch-up.js';
import { checkSelfDrain } from '../node/machine-shapes.js';
import { provenNode, storedNode } from '../node/node-access.js';
import type { NodeEvaluations } from '../node/node-evaluations.js';

/**
 * Users' commands that drain a node, end its drain, or set its eligibility (nodes.md sections 6 and 14), and the
 * commands of a machine that drains itself. Any replica answers; stateless. The drainer carries out the drain. Cost:
 * one transaction, and the node's evaluations when it becomes eligible again.
 */
export class DrainCommands {
  constructor(
    private readonly state: ReplicatedState,
    private readonly evaluations: NodeEvaluations,
    private readonly writer: TransactionWriter,
  ) {}

  /** Begins, changes or ends a drain (DR-1 to DR-11). @throws Refusal with the texts of DR-1 */
  async updateDrain(request: NodeDrainRequest, traceparent?: string): Promise<NodeCommandResponse> {
    if (!request.NodeID) throw new Refusal('invalid', 'missing node ID for drain update');
    if (request.NodeEvent) throw new Refusal('invalid', 'node event must not be set');
    return this.commit(request, traceparent, (node) => drainOf(request, node, this.writer.nowMs()));
  }

  /**
   * Drains the calling node itself (DR-17, DR-80). @throws Refusal forbidden without proof of being that node, invalid
   */
  async drainSelf(request: SelfDrainRequest, traceparent?: string): Promise<NodeCommandResponse> {
    const { ID, Name } = provenNode(this.state.tables, request.NodeID, request.SecretID);
    checkSelfDrain(request);
    const { DrainSpec, Meta, RequestID } = request;
    const For = { Actor: { Kind: 'node', ID, Name }, Reason: '', RequestID } as const;
    const asked = { NodeID: ID, DrainSpec, MarkEligible: false, Meta, UpdatedBy: `client:${ID}`, For };
    return this.updateDrain(asked, traceparent);
  }

  /** @throws Refusal forbidden without proof of being that node; unavailable if this replica stays behind the caller */
  async selfDrainState(request: SelfDrainStateRequest): Promise<SelfDrainState> {
    await catchUp(this.state, request.MinStateIndex);
    const { DrainStrategy } = provenNode(this.state.tables, request.NodeID, request.SecretID);
    return { Draining: DrainStrategy !== null };
  }

  /** Sets a node's eligibility (ND-90 to ND-96). @throws Refusal with the texts of ND-90 */
  async updateEligibility(request: NodeEligibilityRequest, traceparent?: string): Promise<NodeCommandResponse> {
    const { Eligibility } = request;
    if (!request.NodeID) throw new Refusal('invalid', 'missing node ID for setting scheduling eligibility');
    if (request.NodeEvent) throw new Refusal('invalid', 'node event must not be set');
    if (!isEligibility(Eligibility)) throw new Refusal('invalid', `invalid scheduling eligibility "${Eligibility}"`);
    return this.commit(request, traceparent, (node) => eligibilityOf(Eligibility, node, this.writer.nowMs()));
  }

  private async commit(
    { NodeID, For }: NodeDrainRequest | NodeEligibilityRequest,
    traceparent: string | undefined,
    decide: (node: Node) => Decision | undefined,
  ): Promise<NodeCommandResponse> {
    const { nodes } = this.state.tables;
    const { row: before, written } = await this.writer.commit(
      onBehalfOf(For, traceparent),
      () => ({ ...seenNode(nodes, NodeID), row: storedNode(nodes, NodeID) }),
      decide,
    );
    if (!written) return this.answer(before, 0);
    const after = nodes.get(NodeID) ?? before;
    const usableAgain = before.SchedulingEligibility === 'ineligible' && after.SchedulingEligibility === 'eligible';
    const evals = usableAgain ? await this.evaluations.create(after, written.index, traceparent) : undefined;
    return { ...this.answer(after, written.index), ...evals };
  }

  private answer(node: Node, index: number): NodeCommandResponse {
    return {
      EvalIDs: [],
      EvalCreateIndex: 0,
      NodeModifyIndex: index,
      NumNodes: this.state.tables.nodes.size,
      SchedulingEligibility: node.SchedulingEligibility,
      Index: index,
    };
  }
}
