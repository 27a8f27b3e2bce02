import type { Keyring } from '@waybill/keyring';
import { type Clock, type Node, Refusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  type IdentityRequest,
  MAX_IDENTITIES_PER_CALL,
  type RejectedIdentity,
  type SignedIdentity,
  type SignIdentitiesRequest,
  type SignIdentitiesResponse,
} from '@waybill/rpc';
import { signingKeyOf } from '@waybill/state';
import { catchUp } from '../allocations/catch-up.js';
import { checkIdentityRequests } from '../node/machine-shapes.js';
import { permissionDenied, provenNode } from '../node/node-access.js';
import { jobOf } from '../node/node-evaluations.js';
import { type Bearer, identityClaims } from './identity-claims.js';

export interface IdentitySigningDependencies {
  readonly state: ReplicatedState;
  readonly keyring: Pick<Keyring, 'signJwt'>;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Empty if none is configured. */
  readonly issuer: string;
}

/**
 * Largest token: it travels in a header, and servers accept 16 KiB of headers. Names of jobs, audiences and extra
 * claims have no limit of their own.
 */
export const MAX_SIGNED_TOKEN_BYTES = 8 * 1_024;

/**
 * Signs identities of a machine's own allocations at its request (AU-137, AU-139 to AU-143). Any replica answers;
 * stateless: no token is kept or written anywhere. Cost: a signature for each identity.
 */
export class IdentitySigning {
  constructor(private readonly deps: IdentitySigningDependencies) {}

  /** @throws Refusal forbidden, invalid, unavailable; KeyringError if no key can be used */
  async sign(request: SignIdentitiesRequest): Promise<SignIdentitiesResponse> {
    const { NodeID, SecretID, MinStateIndex, Identities } = request;
    checkIdentityRequests(Identities);
    if (Identities.length === 0) throw new Refusal('invalid', 'no identities requested');
    if (Identities.length > MAX_IDENTITIES_PER_CALL)
      throw new Refusal('invalid', `more than ${MAX_IDENTITIES_PER_CALL} identities requested`);
    const { state } = this.deps;
    await catchUp(state, MinStateIndex);
    const node = provenNode(state.tables, NodeID, SecretID);
    const isOthers = ({ AllocID }: IdentityRequest): boolean =>
      (state.tables.allocs.get(AllocID)?.NodeID ?? node.ID) !== node.ID;
    if (Identities.some(isOthers)) throw permissionDenied();
    const answers = await Promise.all(Identities.map((identity) => this.signed(identity, node)));
    return {
      Signed: answers.filter((answer) => 'JWT' in answer),
      Rejected: answers.filter((answer) => 'Reason' in answer),
    };
  }

  private async signed(request: IdentityRequest, node: Node): Promise<SignedIdentity | RejectedIdentity> {
    const { state, keyring, clock, newId, issuer } = this.deps;
    const bearer = this.bearerOf(request.AllocID, node);
    if (!bearer) return { ...request, Reason: 'allocation not found' };
    const decided = identityClaims(request, bearer, { issuer, nowMs: clock.nowMs(), newId });
    if ('reason' in decided) return { ...request, Reason: decided.reason };
    const keyId = decided.ofAllocation ? signingKeyOf(state.tables, bearer.alloc)?.KeyID : undefined;
    const JWT = await keyring.signJwt(keyId, decided.claims);
    if (JWT.length > MAX_SIGNED_TOKEN_BYTES)
      return {
        ...request,
        Reason: `its token has ${JWT.length} bytes, and at most ${MAX_SIGNED_TOKEN_BYTES} fit into a request: fewer audiences or shorter extra claims`,
      };
    return { ...request, JWT, ValidMs: decided.validMs };
  }

  private bearerOf(allocId: string, node: Node): Bearer | undefined {
    const { tables } = this.deps.state;
    const alloc = tables.allocs.get(allocId);
    const job = alloc && jobOf(tables, alloc);
    if (!alloc || !job) return undefined;
    const namespace = tables.namespaces.get(alloc.Namespace) ?? NO_CLAIMS;
    return { alloc, job, node, namespace };
  }
}

const NO_CLAIMS = { RequiredExtraClaims: null, OptionalExtraClaims: null };
