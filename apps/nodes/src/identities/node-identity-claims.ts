import type { Claims, NodeClaims } from '@waybill/keyring';
import { DEFAULT_AUDIENCE, DEFAULT_NODE_IDENTITY_TTL_NS, type Node, NS_PER_SECOND } from '@waybill/model';
import type { Tables } from '@waybill/state';

/** The members of a node that its identity names. */
export type IdentifiedNode = Pick<Node, 'ID' | 'NodePool' | 'NodeClass' | 'Datacenter'>;

/** The amounts that decide whether an identity is about to expire. */
export interface IdentityLife {
  /** Life of an identity of the node's pool as the pool is now, in ns. */
  readonly ttlNs: number;
  readonly nowMs: number;
}

/** A new identity is made when less than this part of the life is left (AU-193). */
const RENEWED_PART = 1 / 3;

/** The life of identities in the pool, in ns. An unknown pool has the default of new ones (AU-194). */
export function identityTtlNs(pools: Pick<Tables['node_pools'], 'get'>, pool: string): number {
  const ttlNs = pools.get(pool)?.NodeIdentityTTL ?? 0;
  return ttlNs > 0 ? ttlNs : DEFAULT_NODE_IDENTITY_TTL_NS;
}

/**
 * Whether a registration is answered with a new identity (AU-192).
 * @param held the valid identity of this node with which it came; undefined if that was expired, or if the machine
 * proved itself by its secret, by an introduction token or by nothing
 */
export const registrationNeedsIdentity = (
  node: IdentifiedNode,
  held: NodeClaims | undefined,
  life: IdentityLife,
): boolean => held === undefined || isAboutOther(held, node) || isExpiring(held, life);

/**
 * Whether a heartbeat is answered with a new identity (AU-192).
 * @param held the identity by which the machine proved itself; undefined if it used its secret
 */
export const heartbeatNeedsIdentity = (held: NodeClaims | undefined, isForced: boolean, life: IdentityLife): boolean =>
  held === undefined || isForced || isExpiring(held, life);

const isAboutOther = (held: NodeClaims, node: IdentifiedNode): boolean =>
  held.pool !== node.NodePool || held.nodeClass !== node.NodeClass || held.datacenter !== node.Datacenter;

const isExpiring = ({ expiresAtMs }: NodeClaims, { ttlNs, nowMs }: IdentityLife): boolean =>
  expiresAtMs < nowMs + (ttlNs / 1e6) * RENEWED_PART;

export interface NodeIdentityContext {
  readonly region: string;
  /** Empty if none is configured. */
  readonly issuer: string;
  readonly newId: () => string;
}

/** The claims of a new identity of the node (section 1.6 of auth.md). It always has an end. */
export function nodeIdentityClaims(
  node: IdentifiedNode,
  { ttlNs, nowMs }: IdentityLife,
  { region, issuer, newId }: NodeIdentityContext,
): Claims {
  const nowS = Math.floor(nowMs / 1_000);
  return {
    ...(issuer !== '' && { iss: issuer }),
    aud: DEFAULT_AUDIENCE,
    sub: `node:${region}:${node.NodePool}:${node.ID}:default`,
    iat: nowS,
    nbf: nowS,
    exp: nowS + Math.max(1, Math.round(ttlNs / NS_PER_SECOND)),
    jti: newId(),
    nomad_node_id: node.ID,
    nomad_node_pool: node.NodePool,
    nomad_node_class: node.NodeClass,
    nomad_node_datacenter: node.Datacenter,
  };
}
