import type { NodeClaims } from '@waybill/keyring';
import type { NodeIdentityCheck } from '@waybill/service';
import { checkedNode, checkSecret, registrationOf } from '../decisions/node-registration.js';
import { seenNode } from './seen-node.js';
import { asNode, type TransactionWriter } from '@waybill/writing';
import { type Clock, isRefusal, type Node, Refusal, Slots } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import type { NodeRegisterRequest, NodeUpdateResponse } from '@waybill/rpc';
import type { NodeIdentities, SignedNodeIdentity } from '../identities/node-identities.js';
import type { Introductions } from '../introductions/introductions.js';
import { answeredTtlMs, type HeartbeatPace, ttlNs } from '../heartbeats/heartbeat-ttl.js';
import type { NodeEvaluations } from './node-evaluations.js';
import { permissionDenied } from './node-access.js';
import { registrationNeedsEvaluations } from './node-status.js';
import { roleTermsOf } from './role-terms.js';

/**
 * Registrations that are written at once: half of the log's places for messages in flight; the rest is for other
 * writers. After a power cut, a whole cluster registers within one second. Sent to the log all at once, most of the
 * registrations would miss its deadline, and a machine retries only after 15 s to 30 s (AG-31).
 */
export const MAX_REGISTERING = 128;
/** Registrations that may wait for a slot; further ones are told to retry. */
export const MAX_WAITING_REGISTRATIONS = 20_000;

export interface RegistrationDependencies {
  readonly state: ReplicatedState;
  readonly evaluations: NodeEvaluations;
  readonly writer: TransactionWriter;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly pace: HeartbeatPace;
  /** Decides whether a machine that is not stored yet may register. Absent: every one may. */
  readonly introductions?: Pick<Introductions, 'admit'> | undefined;
  /** Signs identities of machines. Absent: machines have none, and prove themselves by their secret. */
  readonly identities?: Pick<NodeIdentities, 'forRegistration'> | undefined;
  /** Verifies the identity with which a machine registers. */
  readonly identityCheck?: Pick<NodeIdentityCheck, 'validClaims'> | undefined;
  /** Called for a machine that has no right to register as this node. */
  readonly forbidden?: ((node: Node, refusal: Refusal) => void) | undefined;
}

/**
 * Writes machines' registrations to the log (nodes.md section 4). Any replica answers. Invalid requests are refused at
 * once, others wait for a slot, in order of arrival.
 * Limits: MAX_REGISTERING, MAX_WAITING_REGISTRATIONS. Cost: one transaction, and the node's evaluations where the change
 * requires them; a waiting registration keeps its request in memory.
 */
export class Registration {
  private readonly slots = new Slots(MAX_REGISTERING, {
    most: MAX_WAITING_REGISTRATIONS,
    refusal: 'too many registrations are waiting; try again',
  });

  constructor(private readonly deps: RegistrationDependencies) {}

  /** Registrations that wait for a slot. */
  get waiting(): number {
    return this.slots.size;
  }

  /**
   * @param machine the node that the caller is for NATS, undefined if NATS does not say
   * @throws Refusal with the texts of ND-26, ND-27, ND-30; forbidden for another node (AU-263); limit if too many wait
   */
  async register(request: NodeRegisterRequest, traceparent?: string, machine?: string): Promise<NodeUpdateResponse> {
    const sent = checkedNode(request);
    try {
      if (machine !== undefined && machine !== sent.ID) throw permissionDenied();
      return await this.slots.use(async () => {
        await this.deps.introductions?.admit(sent, request.IntroductionToken || request.Identity, traceparent);
        return this.registered(sent, request, traceparent);
      });
    } catch (error) {
      if (error instanceof Refusal && isRefusal(error, 'forbidden')) this.deps.forbidden?.(sent, error);
      throw error;
    }
  }

  private async registered(
    sent: Node,
    { After: comesAfter, Identity }: NodeRegisterRequest,
    traceparent: string | undefined,
  ): Promise<NodeUpdateResponse> {
    const { state, clock } = this.deps;
    const { nodes, node_pools } = state.tables;
    const identity = Identity === undefined ? undefined : await this.newIdentity(sent, Identity);
    const registration = { sent, comesAfter, signingKeyId: identity?.keyId };
    const decide = (stored: Node | undefined) => registrationOf(registration, stored, node_pools, clock.nowMs());
    const author = asNode(sent, traceparent);
    const {
      row: before,
      decision,
      written,
    } = await this.deps.writer.commit(author, () => seenNode(nodes, sent.ID), decide);
    if (before && !written)
      return { ...this.answer(before, 0, []), NodeModifyIndex: before.ModifyIndex, IsOvertaken: true };
    const after = nodes.get(sent.ID) ?? decision?.payload.Node ?? sent;
    const index = written?.index ?? 0;
    const evals = registrationNeedsEvaluations(before, after)
      ? await this.deps.evaluations.create(after, index, traceparent)
      : { EvalIDs: [] };
    return { ...this.answer(after, index, evals.EvalIDs), ...(identity && { SignedIdentity: identity.token }) };
  }

  /** @throws Refusal forbidden before anything is signed for a machine with a wrong secret */
  private async newIdentity(sent: Node, presented: string): Promise<SignedNodeIdentity | undefined> {
    checkSecret(sent, this.deps.state.tables.nodes.get(sent.ID));
    return this.deps.identities?.forRegistration(sent, await this.heldIdentity(sent, presented));
  }

  /** The claims of a valid identity of this very node. Any other one counts as none: the secret decides (AU-198). */
  private async heldIdentity(sent: Node, presented: string): Promise<NodeClaims | undefined> {
    const claims = presented === '' ? undefined : await this.deps.identityCheck?.validClaims(presented);
    return claims?.nodeId === sent.ID ? claims : undefined;
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
      Terms: roleTermsOf(this.deps.state.tables),
    };
  }
}
