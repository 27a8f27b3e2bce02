import type { Claims } from './identity-tokens.js';

/** NodeClaims has the statements of a valid node identity about the machine that holds it (section 1.6 of auth.md). */
export interface NodeClaims {
  readonly nodeId: string;
  readonly pool: string;
  readonly nodeClass: string;
  readonly datacenter: string;
  /** The end of the token in Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** Says whether a credential has the form of a signed token. The secret of a token is a UUID, and registration refuses a secret of a machine with a dot. */
export const isSignedToken = (credential: string): boolean => credential.includes('.');

/**
 * Returns the claims of a node identity, or undefined if the token is of another kind. A node identity always names its
 * node and always has an end.
 */
export function nodeClaimsOf(claims: Claims): NodeClaims | undefined {
  const { sub = '', exp } = claims;
  const nodeId = textClaim(claims, 'nomad_node_id');
  if (nodeId === '' || exp === undefined || !sub.startsWith('node:')) return undefined;
  return {
    nodeId,
    pool: textClaim(claims, 'nomad_node_pool'),
    nodeClass: textClaim(claims, 'nomad_node_class'),
    datacenter: textClaim(claims, 'nomad_node_datacenter'),
    expiresAtMs: exp * 1_000,
  };
}

/** Returns a claim that is a text; empty for one that is absent or of another type. */
export function textClaim(claims: Claims, name: string): string {
  const value = claims[name];
  return typeof value === 'string' ? value : '';
}
