import { asHolder, asNode, type Author, type TransactionWriter } from '@waybill/writing';
import {
  type CancelTimer,
  type Clock,
  type Node,
  type NodeEvent,
  type NodeStatus,
  nsFromMs,
  type Timers,
  Refusal,
  NotHolderError,
} from '@waybill/model';
import { isSignedToken, type NodeClaims } from '@waybill/keyring';
import type { Term } from '@waybill/roles';
import type { ReplicatedState } from '@waybill/replica';
import type { NodeStatusRequest, NodeUpdateResponse } from '@waybill/rpc';
import type { NodeIdentityCheck } from '@waybill/service';
import type { Applied, Fence, TxnPayloads } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { answeredTtlMs, type HeartbeatPace, longestDeadlineMs, ttlNs } from './heartbeat-ttl.js';
import type { NodeIdentities } from '../identities/node-identities.js';
import { newNodeEvent } from '../node/new-node-event.js';
import { nodeNotFound, permissionDenied } from '../node/node-access.js';
import type { NodeEvaluations } from '../node/node-evaluations.js';
import {
  isNodeStatus,
  isWaitingForPool,
  lostStatus,
  resultingStatus,
  statusNeedsEvaluations,
} from '../node/node-status.js';
import { roleTermsOf } from '../node/role-terms.js';

/** Pause before a missed heartbeat that could not be written is tried again (ND-81). */
export const LOSS_RETRY_MS = 5_000;

export interface HeartbeatDependencies {
  readonly state: ReplicatedState;
  readonly evaluations: NodeEvaluations;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly writer: TransactionWriter;
  /** In [0, 1). */
  readonly random: () => number;
  readonly pace: HeartbeatPace;
  readonly logger: Logger;
  /** Signs identities of machines. Absent: machines have none, and prove themselves by their secret. */
  readonly identities?: Pick<NodeIdentities, 'forHeartbeat'> | undefined;
  /** Verifies the identity by which a machine proves itself. Absent: only secrets do. */
  readonly identityCheck?: Pick<NodeIdentityCheck, 'claimsOf'> | undefined;
}

/** `IdentitySigningKeyID` is empty if the stored one stays (AU-195). */
type StatusUpdate = Pick<TxnPayloads['NodeUpdateStatus'], 'Status' | 'NodeEvent' | 'IdentitySigningKeyID'>;

interface Deadline {
  readonly dueMs: number;
  readonly cancel: CancelTimer;
}

/**
 * Detects lost nodes: one deadline for each node that is not down, extended by each heartbeat (nodes.md section 5).
 *
 * Modes: off → on (the lease is held) → off. A new holder arms `failoverTtlMs` for every node that is not down, so that
 * a change of holder loses no node (ND-78, ND-206); a node's next heartbeat returns it to its ordinary TTL. After a
 * restore the ordinary TTL applies at once: the machines of the cluster are alive, and the archive may name others.
 * A missed deadline makes the node `disconnected` or `down`, by a write with the holder's epoch. If a deadline is found
 * missed by more than the grace, this process was suspended and not the node: the node gets the failover TTL again
 * (ND-205). A heartbeat that changes nothing is no transaction.
 * Memory: one timer for each node. Cost: O(1) for a heartbeat, and O(the node's allocations) while it is coming back.
 */
export class Heartbeats {
  private readonly deadlines = new Map<string, Deadline>();
  private fence: Fence | undefined;
  private missed = 0;

  constructor(private readonly deps: HeartbeatDependencies) {}

  start({ fence, followsRestore }: Pick<Term, 'fence' | 'followsRestore'>): void {
    this.fence = fence;
    const { pace, state } = this.deps;
    const { nodes } = state.tables;
    const ttlMs = followsRestore
      ? Math.min(pace.failoverTtlMs, longestDeadlineMs(nodes.size, pace))
      : pace.failoverTtlMs;
    for (const node of nodes.all()) if (node.Status !== 'down') this.armDeadline(node.ID, ttlMs);
  }

  /**
   * Arms deadlines of nodes that another replica registered (ND-79), and of nodes that came back, even if the answer to
   * their heartbeat is lost: no other process would notice their next loss. Drops the deadlines of nodes that are down
   * or deleted (ND-87, ND-208).
   */
  applied(applied: Applied): void {
    for (const change of applied.changes) {
      if (change.table !== 'nodes') continue;
      if (!change.after || change.after.Status === 'down') this.disarmDeadline(change.key);
      else if (applied.txn.type === 'NodeRegister' || (isLost(change.before) && !isLost(change.after)))
        this.armDeadline(change.key, longestDeadlineMs(this.deps.state.tables.nodes.size, this.deps.pace));
    }
  }

  stop(): void {
    this.fence = undefined;
    for (const { cancel } of this.deadlines.values()) cancel();
    this.deadlines.clear();
  }

  stats(): Record<string, number> {
    return { trackedNodes: this.deadlines.size, missedHeartbeats: this.missed };
  }

  /** Deadline of the node, unix ms; undefined if it is not watched. */
  deadlineOf(nodeId: string): number | undefined {
    return this.deadlines.get(nodeId)?.dueMs;
  }

  /**
   * Handles one heartbeat of an agent.
   * @throws NotHolderError without the lease (ND-79); Refusal: invalid or not-found as ND-50 says, forbidden with a
   * wrong secret or identity; the failure of a signature that the machine needs soon (AU-196)
   */
  async heartbeat(request: NodeStatusRequest, traceparent?: string): Promise<NodeUpdateResponse> {
    if (!this.fence) throw notLeader();
    if (!request.NodeID) throw new Refusal('invalid', 'missing node ID for client status update');
    if (!isNodeStatus(request.Status)) throw new Refusal('invalid', 'invalid status for node');
    const { NodeID, SecretID, RenewIdentity } = request;
    const held = isSignedToken(SecretID) ? await this.heldIdentity(SecretID) : undefined;
    const sender = this.provenSender(request, held);
    const identity =
      RenewIdentity === undefined ? undefined : await this.deps.identities?.forHeartbeat(sender, held, RenewIdentity);
    // The state may have changed during the signature.
    if (!this.fence) throw notLeader();
    const node = this.deps.state.tables.nodes.get(NodeID);
    if (!node) throw nodeNotFound();
    const answer = await this.recordHeartbeat(node, request.Status, identity?.keyId ?? '', traceparent);
    return { ...answer, ...(identity && { SignedIdentity: identity.token }) };
  }

  private heldIdentity(token: string): Promise<NodeClaims> {
    if (!this.deps.identityCheck) throw permissionDenied();
    return this.deps.identityCheck.claimsOf(token);
  }

  /** @throws Refusal not-found; forbidden if neither the identity nor the secret is the node's own (AU-331) */
  private provenSender({ NodeID, SecretID }: NodeStatusRequest, held: NodeClaims | undefined): Node {
    const node = this.deps.state.tables.nodes.get(NodeID);
    if (!node) throw nodeNotFound();
    const isOwn = held ? held.nodeId === node.ID : node.SecretID === '' || node.SecretID === SecretID;
    if (!isOwn) throw permissionDenied();
    return node;
  }

  /** Writes the changes that the heartbeat causes, if there are any (ND-51). @param keyId empty: no key to record */
  private recordHeartbeat(
    node: Node,
    requested: NodeStatus,
    keyId: string,
    traceparent: string | undefined,
  ): NodeUpdateResponse | Promise<NodeUpdateResponse> {
    const Status = resultingStatus(this.deps.state.tables, node, requested);
    const NodeEvent = this.eventOf(node);
    const isKeyNew = keyId !== '' && keyId !== node.IdentitySigningKeyID;
    if (Status === node.Status && NodeEvent === null && !isKeyNew) return this.answerHeartbeat(node, 0, []);
    return this.write(node, { Status, NodeEvent, IdentitySigningKeyID: keyId }, asNode(node, traceparent));
  }

  /** The event of the heartbeat: a lost node is back, or a node waits for its pool (ND-53, ND-60). Null: none. */
  private eventOf(node: Node): NodeEvent | null {
    if (node.Status === 'down') return this.newClusterEvent('Node reregistered by heartbeat', null);
    const waiting = 'Node registered but waiting for node pool to be created';
    if (node.Status !== 'initializing' || !isWaitingForPool(this.deps.state.tables, node)) return null;
    return node.Events.some((e) => e.Message === waiting)
      ? null
      : this.newClusterEvent(waiting, { node_pool: node.NodePool });
  }

  private newClusterEvent(message: string, details: Record<string, string> | null): NodeEvent {
    return newNodeEvent('Cluster', message, this.deps.clock.nowMs(), details);
  }

  private async write(
    node: Node,
    { Status, NodeEvent, IdentitySigningKeyID }: StatusUpdate,
    author: Author,
  ): Promise<NodeUpdateResponse> {
    const { state, writer, clock, evaluations } = this.deps;
    const UpdatedAt = Math.floor(clock.nowMs() / 1_000);
    const payload = { NodeID: node.ID, Status, UpdatedAt, NodeEvent, IdentitySigningKeyID };
    const { index } = await writer.write({ type: 'NodeUpdateStatus', payload }, author);
    const after = state.tables.nodes.get(node.ID);
    if (!after) throw nodeNotFound();
    const evals = statusNeedsEvaluations(node.Status, Status)
      ? await evaluations.create(after, index, author.traceparent)
      : { EvalIDs: [] };
    return this.answerHeartbeat(after, index, evals.EvalIDs);
  }

  /** The answer to a heartbeat (ND-54, ND-55). @param index 0: nothing was written (ND-51) */
  private answerHeartbeat(node: Node, index: number, evalIds: readonly string[]): NodeUpdateResponse {
    const { state, pace, random } = this.deps;
    const nodes = state.tables.nodes.size;
    const ttlMs = node.Status === 'down' ? 0 : answeredTtlMs(nodes, pace, random());
    if (ttlMs > 0) this.armDeadline(node.ID, ttlMs + pace.graceMs);
    return {
      HeartbeatTTL: ttlNs(ttlMs),
      EvalIDs: evalIds,
      NodeModifyIndex: index,
      NumNodes: nodes,
      SchedulingEligibility: node.SchedulingEligibility,
      Status: node.Status,
      Index: index,
      Terms: roleTermsOf(state.tables),
      TimeMs: this.deps.clock.nowMs(),
    };
  }

  private armDeadline(nodeId: string, delayMs: number): void {
    const { fence } = this;
    if (!fence) return;
    this.deadlines.get(nodeId)?.cancel();
    const dueMs = this.deps.clock.nowMs() + delayMs;
    const cancel = this.deps.timers.after(delayMs, () => this.expireDeadline(nodeId, dueMs, fence));
    this.deadlines.set(nodeId, { dueMs, cancel });
  }

  private disarmDeadline(nodeId: string): void {
    this.deadlines.get(nodeId)?.cancel();
    this.deadlines.delete(nodeId);
  }

  private expireDeadline(nodeId: string, dueMs: number, fence: Fence): void {
    if (this.deps.clock.nowMs() - dueMs > this.deps.pace.graceMs) {
      this.armDeadline(nodeId, this.deps.pace.failoverTtlMs);
      return;
    }
    this.deadlines.delete(nodeId);
    void this.recordLoss(nodeId, fence);
  }

  private async recordLoss(nodeId: string, fence: Fence): Promise<void> {
    const node = this.deps.state.tables.nodes.get(nodeId);
    if (!node || node.Status === 'down') return;
    const status = lostStatus(this.deps.state.tables, node, nsFromMs(this.deps.clock.nowMs()));
    this.missed++;
    this.deps.logger.warn('a node missed its heartbeats', { node: nodeId, name: node.Name, status });
    try {
      const event = this.newClusterEvent('Node heartbeat missed', null);
      const update = { Status: status, NodeEvent: event, IdentitySigningKeyID: '' };
      await this.write(node, update, asHolder(fence));
    } catch (error) {
      this.deps.logger.error('a missed heartbeat could not be written; trying again', { node: nodeId, error });
      if (this.fence === fence && !this.deadlines.has(nodeId)) this.armDeadline(nodeId, LOSS_RETRY_MS);
    }
  }
}

const notLeader = (): NotHolderError => new NotHolderError('failed to reset heartbeat since server is not leader');

const isLost = (node: Node | undefined): boolean => node?.Status === 'down' || node?.Status === 'disconnected';
