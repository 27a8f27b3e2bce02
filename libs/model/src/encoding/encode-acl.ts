import type { AclPolicy } from '../acl/acl-policy.js';
import type { AclToken } from '../acl/acl-token.js';
import { formatDuration } from '../time/duration.js';
import type { WireObject } from './wire-object.js';

/** What of a token's answer is not in its row. */
export interface TokenAnswer {
  /** The credential; empty where the reader may not see it. */
  readonly secretId: string;
  /** Present name of a role by its ID: roles that are gone are left out (OP-152, OP-153). Absent: as they were written. */
  readonly roleNames?: ReadonlyMap<string, string> | undefined;
}

/** A token as clients see it (OP 7.1). Neither its hash nor its sealed secret ever leaves the servers. */
export function encodeAclToken(token: AclToken, { secretId, roleNames }: TokenAnswer): WireObject {
  const { AccessorID, ...shown } = encodeAclTokenStub(token, roleNames);
  return {
    AccessorID,
    SecretID: secretId,
    ...shown,
    ExpirationTTL: token.ExpirationTTL === 0 ? '' : formatDuration(token.ExpirationTTL),
  };
}

/** A token of a list. */
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

/** @param rulesJson the parsed rules, for a policy that is asked for alone; absent: not shown */
export function encodeAclPolicy(policy: AclPolicy, rulesJson?: unknown): WireObject {
  const { Name, Description, Rules, JobACL, ...rest } = policy;
  return { Name, Description, Rules, ...(rulesJson !== undefined && { RulesJSON: rulesJson }), JobACL, ...rest };
}

/** A policy of a list. */
export function encodeAclPolicyStub(policy: AclPolicy): WireObject {
  const { Name, Description, JobACL, Hash, CreateIndex, ModifyIndex } = policy;
  return { Name, Description, JobACL, Hash, CreateIndex, ModifyIndex };
}
