import type { AclPolicy } from '../acl/acl-policy.js';
import type { AclToken } from '../acl/acl-token.js';
import { formatDuration } from '../time/duration.js';
import type { WireObject } from './wire-object.js';

/** Parts of a token's response that are not in its row. */
export interface TokenAnswer {
  /** The secret. Empty if the caller may not see it. */
  readonly secretId: string;
  /**
   * Present names of roles by ID. Roles that no longer exist are left out (OP-152, OP-153). If absent, the names are
   * shown as written.
   */
  readonly roleNames?: ReadonlyMap<string, string> | undefined;
}

/** Encodes a token for clients (OP 7.1). Its hash and its sealed secret never leave the servers. */
export function encodeAclToken(token: AclToken, { secretId, roleNames }: TokenAnswer): WireObject {
  const { AccessorID, ...shown } = encodeAclTokenStub(token, roleNames);
  return {
    AccessorID,
    SecretID: secretId,
    ...shown,
    ExpirationTTL: token.ExpirationTTL === 0 ? '' : formatDuration(token.ExpirationTTL),
  };
}

/** Encodes a token for a list. */
export function encodeAclTokenStub(token: AclToken, roleNames?: ReadonlyMap<string, string>): WireObject {
  return {
    AccessorID: token.AccessorID,
    Name: token.Name,
    Type: token.Type,
    Policies: token.Policies,
    Roles: roleNames ? presentRoles(token, roleNames) : token.Roles,
    Global: token.Global,
    Hash: token.Hash,
    CreateTime: token.CreateTime,
    ExpirationTime: token.ExpirationTime,
    CreateIndex: token.CreateIndex,
    ModifyIndex: token.ModifyIndex,
  };
}

function presentRoles({ Roles }: AclToken, roleNames: ReadonlyMap<string, string>): WireObject[] | null {
  if (Roles === null) return null;
  return Roles.flatMap(({ ID }) => {
    const Name = roleNames.get(ID);
    return Name === undefined ? [] : [{ ID, Name }];
  });
}

/**
 * Encodes a policy for clients.
 * @param rulesJson the parsed rules for a response with a single policy; if absent, they are not shown
 */
export function encodeAclPolicy(policy: AclPolicy, rulesJson?: unknown): WireObject {
  const { Name, Description, Rules, JobACL, ...rest } = policy;
  return { Name, Description, Rules, ...(rulesJson !== undefined && { RulesJSON: rulesJson }), JobACL, ...rest };
}

/** Encodes a policy for a list. */
export function encodeAclPolicyStub(policy: AclPolicy): WireObject {
  const { Name, Description, JobACL, Hash, CreateIndex, ModifyIndex } = policy;
  return { Name, Description, JobACL, Hash, CreateIndex, ModifyIndex };
}
