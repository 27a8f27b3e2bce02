import { contentHash } from '../encoding/content-hash.js';
import { MAX_LINK_BYTES, MAX_POLICY_LINKS, MAX_ROLE_LINKS, MAX_TOKEN_NAME_CHARS } from '../limits/acl-limits.js';
import { formatDuration } from '../time/duration.js';
import { msFromNs, nsFromMs, nsFromRfc3339 } from '../time/clock.js';

export type AclTokenType = 'client' | 'management';

/**
 * A role that a token has. The ID identifies the role. `Name` is the role's name at the time of the write and may be
 * outdated (OP-152).
 */
export interface AclRoleLink {
  ID: string;
  Name: string;
}

/**
 * A stored token. The secret itself is never stored: a request's secret is looked up by `SecretHash`, and only the
 * cluster's key opens `SealedSecret`. Times are RFC 3339. `ExpirationTTL` is in ns, and 0 if the token never expires.
 */
export interface AclToken {
  AccessorID: string;
  /** Message authentication code of the secret under the cluster's key, hexadecimal. */
  SecretHash: string;
  /** The secret, encrypted under the cluster's key for this accessor, base64. */
  SealedSecret: string;
  Name: string;
  Type: AclTokenType;
  Policies: string[] | null;
  Roles: AclRoleLink[] | null;
  Global: boolean;
  Hash: string;
  CreateTime: string;
  ExpirationTime: string | null;
  ExpirationTTL: number;
  CreateIndex: number;
  ModifyIndex: number;
}

/** The members of a token that its writer sets. The state machine adds the others when it applies the write. */
export type AclTokenSpecification = Omit<AclToken, 'Hash' | 'CreateIndex' | 'ModifyIndex'>;

/** Two tokens with the same specification have the same hash. The secret does not count. */
export const aclTokenHash = ({ Name, Type, Policies, Roles, Global }: AclTokenSpecification): string =>
  contentHash({ Name, Type, Policies, Roles: Roles?.map(({ ID }) => ID) ?? null, Global });

/** Whether a token or a one-time token has expired. It is refused from its expiry time on (OP-154, AU-244). */
export const isExpiredAt = (expires: string | null, nowMs: number): boolean =>
  expires !== null && nsFromRfc3339(expires) <= nowMs * 1_000_000;

/** Shortest and longest life of a token that expires, in ns (AU-227). */
export interface TokenLifeLimits {
  readonly minTtlNs: number;
  readonly maxTtlNs: number;
}

type Said = Pick<
  AclToken,
  'Name' | 'Policies' | 'Roles' | 'Global' | 'CreateTime' | 'ExpirationTime' | 'ExpirationTTL'
> & { readonly Type: string };

/** Returns the problems of a new token (OP-151). */
export function newTokenProblems(token: Said, limits: TokenLifeLimits): string[] {
  return [...contentProblems(token), ...lifeProblems(token, limits)];
}

/** Returns the problems of an update of a stored token (OP-150, OP-151). */
export function tokenUpdateProblems(token: Said, stored: AclToken): string[] {
  const problems = contentProblems(token);
  if (token.Global !== stored.Global) problems.push('cannot toggle global mode');
  if (token.ExpirationTTL !== stored.ExpirationTTL) problems.push('cannot update expiration TTL');
  if (token.ExpirationTime !== null && nsFromRfc3339(token.ExpirationTime) !== nsFromRfc3339(stored.ExpirationTime))
    problems.push('cannot update expiration time');
  return problems;
}

function contentProblems({ Name, Type, Policies, Roles }: Said): string[] {
  const problems: string[] = [];
  if (Array.from(Name).length > MAX_TOKEN_NAME_CHARS) problems.push('token name too long');
  const isLinked = (Policies?.length ?? 0) + (Roles?.length ?? 0) > 0;
  if (Type !== 'client' && Type !== 'management') problems.push('token type must be client or management');
  else if (Type === 'client' && !isLinked) problems.push('client token missing policies or roles');
  else if (Type === 'management' && isLinked)
    problems.push('management token cannot be associated with policies or roles');
  for (const item of policyLinkProblems(Policies ?? [])) problems.push(item);
  if ((Roles?.length ?? 0) > MAX_ROLE_LINKS) problems.push(`more than ${MAX_ROLE_LINKS} roles`);
  return problems;
}

/** Returns the problems of the policy names in a token or a role. Whether the policies exist is not checked here. */
export function policyLinkProblems(names: readonly string[]): string[] {
  const problems: string[] = [];
  if (names.length > MAX_POLICY_LINKS) problems.push(`more than ${MAX_POLICY_LINKS} policies`);
  if (names.some((name) => Buffer.byteLength(name) > MAX_LINK_BYTES))
    problems.push(`policy name longer than ${MAX_LINK_BYTES} bytes`);
  return problems;
}

function lifeProblems(token: Said, { minTtlNs, maxTtlNs }: TokenLifeLimits): string[] {
  const problems: string[] = [];
  if (token.ExpirationTTL < 0)
    problems.push(`token expiration TTL '${formatDuration(token.ExpirationTTL)}' should not be negative`);
  if (token.ExpirationTime === null) return problems;
  // Compared in milliseconds, because an instant in nanoseconds is beyond the exact integers.
  const lifeNs = nsFromMs(msFromNs(nsFromRfc3339(token.ExpirationTime)) - msFromNs(nsFromRfc3339(token.CreateTime)));
  if (lifeNs < 0) problems.push('expiration time cannot be before create time');
  const was = (bound: string, ns: number): string =>
    `expiration time cannot be ${bound} than ${formatDuration(ns)} in the future (was ${formatDuration(lifeNs)})`;
  if (lifeNs > maxTtlNs) problems.push(was('more', maxTtlNs));
  if (lifeNs < minTtlNs) problems.push(was('less', minTtlNs));
  return problems;
}
