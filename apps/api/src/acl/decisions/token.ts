import {
  type AclRoleLink,
  type AclToken,
  type AclTokenSpecification,
  type AclTokenType,
  formatErrors,
  msFromNs,
  newTokenProblems,
  rfc3339FromMs,
  type TokenLifeLimits,
  tokenUpdateProblems,
} from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { badRequest } from '../../http/api-error.js';
import type { GivenToken } from '../token-request.js';
import { isUuid } from './uuid.js';

/** SecretForms converts a secret to its stored forms. `TokenSecrets` implements it. */
export interface SecretForms {
  hash(secret: string): string;
  seal(accessor: string, secret: string): string;
}

/** TokenContext has what a decision about a token needs besides the request. */
export interface TokenContext {
  /** The stored token with the accessor in the request. */
  readonly stored: AclToken | undefined;
  /** The named roles that exist, found by ID or by name. */
  readonly roles: readonly { readonly ID: string; readonly Name: string }[];
  readonly secrets: SecretForms;
  readonly limits: TokenLifeLimits;
  readonly nowMs: number;
  /** Makes accessors and secrets. */
  readonly newUuid: () => string;
}

/** TokenDecision is a token to write, with the secret that the answer shows. */
export type TokenDecision = Decision<'ACLTokenUpsert'> & { readonly accessorId: string };

/**
 * Creates or changes a token (OP-147 to OP-152). With a known accessor it is a change. With an unknown accessor and a
 * secret it is an import of a client token from another cluster.
 * @throws Refusal invalid
 */
export function tokenWrite(given: GivenToken, context: TokenContext): TokenDecision {
  const Roles = roleLinks(given, context);
  const said = { ...given, Policies: unique(given.Policies), Roles };
  const token = context.stored ? updated(said, context.stored) : created(said, context);
  return { type: 'ACLTokenUpsert', payload: { Tokens: [token] }, accessorId: token.AccessorID };
}

type Said = Omit<GivenToken, 'Roles'> & { readonly Roles: AclRoleLink[] | null };

function created(said: Said, context: TokenContext): AclTokenSpecification {
  const { AccessorID, secret } = identity(said, context);
  const life = lifeOf(said, context.nowMs);
  refuse(newTokenProblems({ ...said, ...life }, context.limits));
  return {
    ...contentOf(said),
    ...life,
    AccessorID,
    SecretHash: context.secrets.hash(secret),
    SealedSecret: context.secrets.seal(AccessorID, secret),
    Global: said.Global,
  };
}

/** Generates the accessor and the secret, unless a client token brings both (OP-149). */
function identity(given: Said, { newUuid }: TokenContext): { AccessorID: string; secret: string } {
  if (given.AccessorID === '') return { AccessorID: newUuid(), secret: newUuid() };
  const [AccessorID, secret] = [given.AccessorID.toLowerCase(), given.SecretID.toLowerCase()];
  if (secret === '' || given.Type !== 'client' || !isUuid(AccessorID) || !isUuid(secret))
    throw badRequest(`cannot find token ${given.AccessorID}`);
  return { AccessorID, secret };
}

/** Fixes the time of expiry, which never changes after the token's creation (OP-154). */
function lifeOf({ ExpirationTTL, ExpirationTime }: Said, nowMs: number) {
  const expires = ExpirationTTL === 0 ? ExpirationTime : rfc3339FromMs(nowMs + msFromNs(ExpirationTTL));
  return { CreateTime: rfc3339FromMs(nowMs), ExpirationTime: expires, ExpirationTTL };
}

/** An update of the token (OP-150). The empty hash marks it as one: the state machine keeps the stored secret. */
function updated(said: Said, stored: AclToken): AclTokenSpecification {
  refuse(tokenUpdateProblems({ ...said, CreateTime: stored.CreateTime }, stored));
  const { AccessorID, Global, CreateTime, ExpirationTime, ExpirationTTL } = stored;
  const kept = { AccessorID, Global, CreateTime, ExpirationTime, ExpirationTTL };
  return { ...contentOf(said), ...kept, SecretHash: '', SealedSecret: '' };
}

const contentOf = ({ Name, Type, Policies, Roles }: Said) => ({
  Name,
  // `contentProblems` of the model has refused all other types.
  Type: Type as AclTokenType,
  Policies,
  Roles,
});

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw badRequest(`token 0 invalid: ${formatErrors(problems)}`);
}

/** Links roles by their IDs, so that a link survives a renaming (OP-152). @throws Refusal invalid: unknown role */
function roleLinks({ Roles }: GivenToken, { roles }: TokenContext): AclRoleLink[] | null {
  if (Roles === null) return null;
  const links = Roles.map(({ ID, Name }) => {
    const role = roles.find((one) => (ID === '' ? one.Name === Name : one.ID === ID));
    if (!role) throw badRequest(`cannot find role ${ID || Name}`);
    return { ID: role.ID, Name: role.Name };
  });
  return [...new Map(links.map((link) => [link.ID, link])).values()];
}

const unique = (names: readonly string[] | null): string[] | null => names && [...new Set(names)];
