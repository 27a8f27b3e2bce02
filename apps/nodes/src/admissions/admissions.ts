import type { AdmittedUser, ConnectRequest } from '@waybill/journal';
import type { Clock } from '@waybill/model';
import { decodeMachineProof, machineUser, WAYBILL_ACCOUNT } from '@waybill/rpc';
import type { Tables } from '@waybill/state';
import { namesakesOf, type Introductions } from '../introductions/introductions.js';
import { type Introduction, isClaims } from '../introductions/introduction-verdict.js';
import { admissionVerdict } from './admission-verdict.js';

/** Share of the life of an admission by which lives differ, so that machines do not all connect again at once. */
const SPREAD = 0.1;

export interface AdmissionsDependencies {
  readonly state: { readonly tables: Pick<Tables, 'nodes' | 'node_introductions'> };
  readonly introductions: Pick<Introductions, 'introductionOf'>;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Life of an admission in milliseconds. */
  readonly ttlMs: number;
}

/** `node` is the node ID of the proof, unless there is no proof. */
export type Admission =
  | { readonly user: AdmittedUser; readonly node: string }
  | { readonly refused: string; readonly node?: string };

/**
 * Admissions decides about connections to NATS that its configuration does not know (AU-265): each must be a machine, and
 * gets the permissions of this machine only. Stateless: the copy of the state knows the machines and their secrets, so
 * every replica gives the same answer. Cost: a verified signature or a question to Kubernetes for a new machine, nothing
 * for a known one.
 */
export class Admissions {
  constructor(private readonly deps: AdmissionsDependencies) {}

  /** @throws TokenReviewError if Kubernetes, which may know a new machine, does not answer */
  async decide(request: Pick<ConnectRequest, 'clientKey' | 'token'>): Promise<Admission> {
    const { state, introductions } = this.deps;
    const proof = decodeMachineProof(request.token);
    if (!proof) return { refused: 'the connection has no proof of a machine' };
    const stored = state.tables.nodes.get(proof.node);
    const introduction = stored ? 'none' : await introductions.introductionOf(proof.introduction);
    const verdict = admissionVerdict(proof, {
      stored: state.tables.nodes.get(proof.node), // the review may have taken seconds
      namesakes: () => namesakesOf(state.tables, proof.name),
      introduction,
      used: this.useOf(introduction),
    });
    if (!verdict.isAdmitted) return { refused: verdict.why, node: proof.node };
    return { user: this.userOf(request.clientKey, proof.node), node: proof.node };
  }

  private useOf(introduction: Introduction): { readonly NodeID: string } | undefined {
    const jti = tokenIdOf(introduction);
    return jti === undefined ? undefined : this.deps.state.tables.node_introductions.get(jti);
  }

  private userOf(clientKey: string, node: string): AdmittedUser {
    const { clock, random, ttlMs } = this.deps;
    const lifeMs = ttlMs * (1 - SPREAD * random());
    return {
      name: `machine ${node}`,
      account: WAYBILL_ACCOUNT,
      permissions: machineUser(clientKey, node).permissions,
      expiresS: Math.ceil((clock.nowMs() + lifeMs) / 1_000),
    };
  }
}

const tokenIdOf = (introduction: Introduction): string | undefined =>
  isClaims(introduction) ? introduction.jti : undefined;
