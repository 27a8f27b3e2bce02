import { contentHash } from '../encoding/content-hash.js';
import { MAX_LINK_BYTES, MAX_POLICY_LINKS, MAX_ROLE_LINKS, MAX_TOKEN_NAME_CHARS } from '../limits/acl-limits.js';
import { formatDuration } from '../time/duration.js';
import { msFromNs, nsFromMs, nsFromRfc3339 } from '../time/clock.js';

export type AclTokenType = 'client' | 'management';

/** A role that a token has. The ID counts; `Name` is the role's as of the write, and may have changed since (OP-152). */
export interface AclRoleLink {
  ID: string;
  Name: string;
}

/**
 * A token as it is stored. The credential itself is never stored: a look-up goes by `SecretHash`, and whoever has the
 * cluster's key can open `SealedSecret`. Times are RFC 3339, `ExpirationTTL` is ns, 0 when there is none.
 */
export interface AclToken {
  AccessorID: string;
  /** Hexadecimal; a message authentication code of the secret under the cluster's key. */
  SecretHash: string;
  /** Base64; the secret, encrypted under the cluster's key for this accessor. */
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

/** What a writer says of a token; the rest is known where it is applied. */
export type AclTokenSpecification = Omit<AclToken, 'Hash' | 'CreateIndex' | 'ModifyIndex'>;

/** Equal for tokens that say the same. The secret is no part of it. */
export const aclTokenHash = ({ Name, Type, Policies, Roles, Global }: AclTokenSpecification): string =>
  contentHash({ Name, Type, Policies, Roles: Roles?.map(({ ID }) => ID) ?? null, Global });

/** Whether a token, or a one-time token, is refused at an instant: from its expiry on (OP-154, AU-244). */
export const isExpiredAt = (expires: string | null, nowMs: number): boolean =>
  expires !== null && nsFromRfc3339(expires) <= nowMs * 1_000_000;

/** Least and greatest life of a token that expires, ns (AU-227). */
export interface TokenLifeLimits {
  readonly minTtlNs: number;
  readonly maxTtlNs: number;
}

type Said = Pick<
  AclToken,
  'Name' | 'Policies' | 'Roles' | 'Global' | 'CreateTime' | 'ExpirationTime' | 'ExpirationTTL'
> & { readonly Type: string };

/** What is wrong with a token that is created (OP-151). */
export function newTokenProblems(token: Said, limits: TokenLifeLimits): string[] {
  return [...contentProblems(token), ...lifeProblems(token, limits)];
}

/** What is wrong with a token as an update of a stored one (OP-150, OP-151). */
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
  problems.push(...policyLinkProblems(Policies ?? []));
  if ((Roles?.length ?? 0) > MAX_ROLE_LINKS) problems.push(`more than ${MAX_ROLE_LINKS} roles`);
  return problems;
}

/** What is wrong with the policies that a token or a role names, beside that they may not exist. */
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
  // In milliseconds: nanoseconds of instants are not exact.
  const lifeNs = nsFromMs(msFromNs(nsFromRfc3339(token.ExpirationTime)) - msFromNs(nsFromRfc3339(token.CreateTime)));
  if (lifeNs < 0) problems.push('expiration time cannot be before create time');
  const was = (bound: string, ns: number): string =>
    `expiration time cannot be ${bound} than ${formatDuration(ns)} in the future (was ${formatDuration(lifeNs)})`;
  if (lifeNs > maxTtlNs) problems.push(was('more', maxTtlNs));
  if (lifeNs < minTtlNs) problems.push(was('less', minTtlNs));
  return problems;
}
