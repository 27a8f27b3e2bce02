import { ALL_NODES_POOL, type Clock, computedClass, type Node, nsFromMs, poolNameProblem } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { type NodeRegisterRequest, type NodeUpdateResponse, RpcError } from '@waybill/rpc';
import { draftTxn, isRejected, type Proposed } from '@waybill/state';
import { answeredTtlMs, type HeartbeatPace, ttlNs } from '../heartbeats/heartbeat-ttl.js';
import { checkNode } from './machine-shapes.js';
import { nodeNameProblem, withCutTexts } from './machine-texts.js';
import type { NodeEvaluations } from './node-evaluations.js';
import { isNodeStatus, registrationNeedsEvaluations } from './node-status.js';
import { RegistrationTurns } from './registration-turns.js';
import { writeOnNode } from './write-on-node.js';

export interface RegistrationDependencies {
  readonly state: ReplicatedState;
  readonly evaluations: NodeEvaluations;
  readonly clock: Clock;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly pace: HeartbeatPace;
}

/**
 * Takes a machine's description into the state (nodes.md section 4). Any replica answers. Bad input is refused at once,
 * the rest waits its turn. Cost: one transaction, and the node's evaluations where the change asks for them.
 */
export class Registration {
  private readonly turns = new RegistrationTurns();

  constructor(private readonly deps: RegistrationDependencies) {}

  /** Registrations that wait for their turn. */
  get waiting(): number {
    return this.turns.size;
  }

  /** @throws RpcError with the texts of ND-26, ND-27, ND-30; limit when too many wait */
  async register(request: NodeRegisterRequest, traceparent?: string): Promise<NodeUpdateResponse> {
    const sent = checkedNode(request);
    return this.turns.take(() => this.registered(sent, request.After, traceparent));
  }

  private async registered(
    sent: Node,
    comesAfter: number | undefined,
    traceparent: string | undefined,
  ): Promise<NodeUpdateResponse> {
    const { before, after, proposed } = await this.write(sent, comesAfter, traceparent);
    if (!proposed) return { ...this.answer(after, 0, []), NodeModifyIndex: after.ModifyIndex, IsOvertaken: true };
    const evals = registrationNeedsEvaluations(before, after)
      ? await this.deps.evaluations.create(after, proposed.index, traceparent)
      : { EvalIDs: [], EvalCreateIndex: 0 };
    return this.answer(after, proposed.index, evals.EvalIDs);
  }

  /** Nothing is proposed if the node was changed since what the registration comes after. */
  private write(
    sent: Node,
    comesAfter = Infinity,
    traceparent: string | undefined,
  ): Promise<{ before: Node | undefined; after: Node; proposed: Proposed | undefined }> {
    const { state, clock, newId } = this.deps;
    return writeOnNode(state, sent.ID, async (expectedLastSubjectSequence) => {
      const before = state.tables.nodes.get(sent.ID);
      const nowMs = clock.nowMs();
      const node = mergedNode(sent, before, Math.floor(nowMs / 1_000));
      if (before && before.ModifyIndex > comesAfter) return { before, after: before, proposed: undefined };
      const proposed = await state.propose(
        draftTxn(
          'NodeRegister',
          { Node: node, CreateNodePool: !state.tables.node_pools.has(node.NodePool) },
          {
            timeNs: nsFromMs(nowMs),
            requestId: newId(),
            actor: { Kind: 'node', ID: node.ID, Name: node.Name },
            traceparent,
          },
        ),
        { expectedLastSubjectSequence },
      );
      if (isRejected(proposed.verdict)) throw new RpcError('conflict', proposed.verdict.error);
      return { before, after: state.tables.nodes.get(sent.ID) ?? node, proposed };
    });
  }

  private answer(node: Node, index: number, evalIds: readonly string[]): NodeUpdateResponse {
    const nodes = this.deps.state.tables.nodes.size;
    return {
      HeartbeatTTL: node.Status === 'down' ? 0 : ttlNs(answeredTtlMs(nodes, this.deps.pace, this.deps.random())),
      EvalIDs: evalIds,
      NodeModifyIndex: index,
      NumNodes: nodes,
      SchedulingEligibility: node.SchedulingEligibility,
      Status: node.Status,
      Index: index,
    };
  }
}

/** ND-26, ND-27: checks in order, then its shape, then defaults. */
export function checkedNode(request: NodeRegisterRequest): Node {
  const node: Node | null | undefined = request.Node;
  if (!node) throw invalid('missing node for client registration');
  if (!node.ID) throw invalid('missing node ID for client registration');
  if (!node.Datacenter) throw invalid('missing datacenter for client registration');
  if (!node.Name) throw invalid('missing node name for client registration');
  if (!node.Attributes || Object.keys(node.Attributes).length === 0)
    throw invalid('missing attributes for client registration');
  if (!node.SecretID) throw invalid('missing node secret ID for client registration');
  const pool = node.NodePool || 'default';
  const problem = poolNameProblem(pool);
  if (problem !== undefined) throw invalid(`invalid node pool: ${problem}`);
  if (pool === ALL_NODES_POOL) throw invalid('node is not allowed to register in node pool "all"');
  const status = node.Status || 'initializing';
  if (!isNodeStatus(status)) throw invalid('invalid status for node');
  checkNode(node);
  const tooLong = nodeNameProblem(node);
  if (tooLong !== undefined) throw invalid(tooLong);
  return {
    ...withCutTexts(node),
    NodePool: pool,
    Status: status,
    SchedulingEligibility: node.SchedulingEligibility || 'eligible',
  };
}

/** What is stored of a registration. ND-28, ND-30, ND-31; what ND-32 keeps is kept at apply. */
function mergedNode(sent: Node, stored: Node | undefined, nowSeconds: number): Node {
  if (stored && stored.SecretID !== '' && stored.SecretID !== sent.SecretID)
    throw new RpcError('forbidden', 'node secret ID does not match. Not registering node.');
  return {
    ...sent,
    Status: stored?.Status ?? sent.Status,
    StatusUpdatedAt: nowSeconds,
    ComputedClass: computedClass(sent),
  };
}

const invalid = (message: string): RpcError => new RpcError('invalid', message);
