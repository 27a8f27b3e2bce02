import type { AuthMethod } from '@waybill/model';
import { type TokenContext, type TokenDecision, tokenWrite } from '../../acl/decisions/token.js';
import { badRequest } from '../../http/api-error.js';
import type { BoundNames } from './bound-names.js';

/** ExistingGrants are the roles and policies that exist among those that the rules name. */
export interface ExistingGrants {
  readonly roles: readonly { readonly ID: string; readonly Name: string }[];
  readonly policies: readonly string[];
}

/** LoginGrant has what a login's token is made from. */
export interface LoginGrant {
  readonly method: Pick<AuthMethod, 'TokenLocality' | 'MaxTokenTTL'>;
  /** The name of the token (AU-55). */
  readonly name: string;
  readonly bound: BoundNames;
  readonly existing: ExistingGrants;
}

/**
 * Returns the token that a login gets (AU-62 to AU-65). A role or policy that does not exist gives nothing.
 * @throws Refusal invalid if nothing is left, or the token exceeds the server's limits
 */
export function loginToken(
  { method, name, bound, existing }: LoginGrant,
  context: Omit<TokenContext, 'stored' | 'roles'>,
): TokenDecision {
  const isManagement = bound.kind === 'management';
  const { roles, policies } = isManagement ? NOTHING : existing;
  if (!isManagement && roles.length + policies.length === 0) throw badRequest('no role or policy bindings matched');
  const given = {
    AccessorID: '',
    SecretID: '',
    Name: name,
    Type: isManagement ? 'management' : 'client',
    Policies: policies.length === 0 ? null : [...policies],
    Roles: roles.length === 0 ? null : roles.map(({ ID, Name }) => ({ ID, Name })),
    Global: method.TokenLocality === 'global',
    ExpirationTime: null,
    ExpirationTTL: method.MaxTokenTTL,
  };
  return tokenWrite(given, { ...context, stored: undefined, roles });
}

const NOTHING: ExistingGrants = { roles: [], policies: [] };
