import {
  type Clock,
  type DrainStrategy,
  msFromNs,
  type Node,
  nsFromMs,
  rfc3339FromMs,
  type SchedulingEligibility,
} from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  type NodeCommandResponse,
  type NodeDrainRequest,
  type NodeEligibilityRequest,
  RpcError,
  type SelfDrainRequest,
  type SelfDrainState,
  type SelfDrainStateRequest,
} from '@waybill/rpc';
import { draftTxn, isRejected, type TxnDraft } from '@waybill/state';
import { catchUp } from '../allocations/catch-up.js';
import { nodeNotFound, provenNode } from '../node/node-access.js';
import { newNodeEvent } from '../node/new-node-event.js';
import { draftContext } from '../node/node-commands.js';
import type { NodeEvaluations } from '../node/node-evaluations.js';
import { writeOnNode } from '../node/write-on-node.js';

/**
 * What users ask about a node's use: to drain it, to stop draining, to make it eligible or not (nodes.md sections 6 and
 * 14); and what a machine that leaves asks about itself. Any replica answers; stateless. The draining itself is the drainer's.
 * Cost: one transaction, and the node's evaluations where it becomes eligible again.
 */
export class DrainCommands {
  constructor(
    private readonly state: ReplicatedState,
    private readonly evaluations: NodeEvaluations,
    private readonly clock: Clock,
  ) {}

  /** DR-1 to DR-11. @throws RpcError with the texts of DR-1 */
  async updateDrain(request: NodeDrainRequest, traceparent?: string): Promise<NodeCommandResponse> {
    if (!request.NodeID) throw new RpcError('invalid', 'missing node ID for drain update');
    if (request.NodeEvent) throw new RpcError('invalid', 'node event must not be set');
    return this.write(request.NodeID, traceparent, (node, nowMs) => {
      const DrainStrategy = strategyOf(request, node, nowMs);
      const message = drainMessage(node.DrainStrategy, DrainStrategy);
      return draftTxn(
        'NodeUpdateDrain',
        {
          NodeID: node.ID,
          DrainStrategy,
          MarkEligible: DrainStrategy === null && request.MarkEligible,
          NodeEvent: message === undefined ? null : newNodeEvent('Drain', message, nowMs),
          UpdatedAt: Math.floor(nowMs / 1_000),
          Meta: { ...request.Meta },
          UpdatedBy: request.UpdatedBy,
        },
        { ...draftContext(request.For, traceparent), timeNs: nsFromMs(nowMs) },
      );
    });
  }

  /** DR-17, DR-80: a node drains itself. @throws RpcError forbidden without proof of being that node */
  async drainSelf(request: SelfDrainRequest, traceparent?: string): Promise<NodeCommandResponse> {
    const { ID, Name } = provenNode(this.state.tables, request.NodeID, request.SecretID);
    const { DrainSpec, Meta, RequestID } = request;
    const For = { Actor: { Kind: 'node', ID, Name }, Reason: '', RequestID } as const;
    const asked = { NodeID: ID, DrainSpec, MarkEligible: false, Meta, UpdatedBy: `client:${ID}`, For };
    return this.updateDrain(asked, traceparent);
  }

  /** @throws RpcError forbidden without proof of being that node; unavailable: this replica stays behind the asker */
  async selfDrainState(request: SelfDrainStateRequest): Promise<SelfDrainState> {
    await catchUp(this.state, request.MinStateIndex);
    const { DrainStrategy } = provenNode(this.state.tables, request.NodeID, request.SecretID);
    return { Draining: DrainStrategy !== null };
  }

  /** ND-90 to ND-96. @throws RpcError with the texts of ND-90 */
  async updateEligibility(request: NodeEligibilityRequest, traceparent?: string): Promise<NodeCommandResponse> {
    const { Eligibility } = request;
    if (!request.NodeID) throw new RpcError('invalid', 'missing node ID for setting scheduling eligibility');
    if (request.NodeEvent) throw new RpcError('invalid', 'node event must not be set');
    if (!isEligibility(Eligibility)) throw new RpcError('invalid', `invalid scheduling eligibility "${Eligibility}"`);
    return this.write(request.NodeID, traceparent, (node, nowMs) => {
      if (Eligibility === 'eligible' && node.DrainStrategy) throw new RpcError('invalid', WHILE_DRAINING);
      if (node.SchedulingEligibility === Eligibility) return undefined;
      return draftTxn(
        'NodeUpdateEligibility',
        {
          NodeID: node.ID,
          Eligibility,
          NodeEvent: newNodeEvent('Cluster', `Node marked as ${Eligibility} for scheduling`, nowMs),
          UpdatedAt: Math.floor(nowMs / 1_000),
        },
        { ...draftContext(request.For, traceparent), timeNs: nsFromMs(nowMs) },
      );
    });
  }

  /** Writes what `decide` makes of the stored node; undefined: nothing (ND-91). */
  private write(
    nodeId: string,
    traceparent: string | undefined,
    decide: (node: Node, nowMs: number) => TxnDraft | undefined,
  ): Promise<NodeCommandResponse> {
    const { state } = this;
    return writeOnNode(state, nodeId, async (expectedLastSubjectSequence) => {
      const before = state.tables.nodes.get(nodeId);
      if (!before) throw nodeNotFound();
      const draft = decide(before, this.clock.nowMs());
      if (!draft) return this.answer(before, 0);
      const { index, verdict } = await state.propose(draft, { expectedLastSubjectSequence });
      if (isRejected(verdict)) throw new RpcError('conflict', verdict.error);
      const after = state.tables.nodes.get(nodeId) ?? before;
      const usableAgain = before.SchedulingEligibility === 'ineligible' && after.SchedulingEligibility === 'eligible';
      const evals = usableAgain ? await this.evaluations.create(after, index, traceparent) : undefined;
      return { ...this.answer(after, index), ...evals };
    });
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

const WHILE_DRAINING = "can not set node's scheduling eligibility to eligible while it is draining";

const isEligibility = (text: string): text is SchedulingEligibility => text === 'eligible' || text === 'ineligible';

/** DR-2 to DR-4. */
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

/** DR-7. */
function drainMessage(before: DrainStrategy | null, after: DrainStrategy | null): string | undefined {
  if (after) return before ? 'Node drain strategy updated' : 'Node drain strategy set';
  return before ? 'Node drain disabled' : undefined;
}
