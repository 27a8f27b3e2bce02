import { Acl, type Workload } from '@waybill/acl';
import { type AclToken, ANONYMOUS_POLICY } from '@waybill/model';
import { policiesOfWorkloads, type TokenGrants, type WatchKey, wholeTables } from '@waybill/projection';
import type { Actor } from '@waybill/state';

/** WorkloadCaller is a caller with the identity of a task or of a service. */
export interface WorkloadCaller extends Workload {
  readonly allocId: string;
  /** The name of the identity. */
  readonly identity: string;
  /** The names of its policies. */
  readonly policies: readonly string[];
  /** The expiry in Unix milliseconds. If it is undefined, the identity lives as long as its allocation. */
  readonly expiresAtMs: number | undefined;
}

/** Caller says who sent a request and what they may do. It does not change during the request (OP-117). */
export interface Caller {
  /** The caller's name in the log. It never contains a secret (OP-116). */
  readonly actor: Actor;
  readonly acl: Acl;
  /**
   * The caller's token with its roles and policies. It is undefined for the anonymous caller, and while access control
   * is off.
   */
  readonly grants: TokenGrants | undefined;
  /** The caller's token as it is stored. */
  readonly token: AclToken | undefined;
  /**
   * The index of the newest of the caller's token, roles, policies and allocation. A service to which a call is passed
   * on looks the rights up at this index or later.
   */
  readonly rightsIndex: number;
  /** The task or service whose identity the request has. It is undefined if the request has no such identity. */
  readonly workload?: WorkloadCaller | undefined;
}

const NOBODY: Actor = { Kind: 'anonymous', ID: '', Name: 'anonymous' };

/** Returns a caller without a token, who has the rights of the policy `anonymous` (OP-112). */
export const anonymous = (acl: Acl, rightsIndex = 0): Caller => ({
  actor: NOBODY,
  acl,
  grants: undefined,
  token: undefined,
  rightsIndex,
});

/** Every caller while access control is off: everything is allowed, and nobody is named (OP-110). */
export const EVERYBODY: Caller = anonymous(Acl.management);

/** Returns a caller with a valid token. */
export const withToken = (grants: TokenGrants, acl: Acl): Caller => ({
  actor: { Kind: 'token', ID: grants.token.AccessorID, Name: grants.token.Name },
  acl,
  grants,
  token: grants.token,
  rightsIndex: newestOf([grants.token, ...grants.roles, ...grants.policies]),
});

/** Returns the highest ModifyIndex. */
export const newestOf = (rows: readonly { readonly ModifyIndex: number }[]): number =>
  rows.reduce((newest, { ModifyIndex }) => Math.max(newest, ModifyIndex), 0);

/** Returns the caller's identity as text, as a drain records it (DR-17). */
export function identityText(caller: Caller): string {
  if (caller.workload) return `alloc:${caller.workload.allocId}`;
  if (caller.token) return `token:${caller.token.AccessorID}`;
  return caller === EVERYBODY ? 'token:acls-disabled' : 'token:anonymous';
}

/**
 * Returns the names of the caller's policies. They include policies that do not exist yet, so that a blocked list wakes
 * when they are created.
 */
export function policyNamesOf({ grants, workload }: Caller): string[] {
  if (workload) return [...workload.policies];
  if (!grants) return [ANONYMOUS_POLICY];
  const { token, roles } = grants;
  return [...new Set([...(token.Policies ?? []), ...roles.flatMap((role) => role.Policies.map(({ Name }) => Name))])];
}

/**
 * Returns the keys of the rows on which the caller's rights depend: the token, its roles and its policies, or the
 * allocation of a workload with the policies of its namespace and the keys that verify its identity. Policies that do
 * not exist are included, because they may be created.
 */
export function rightsKeysOf(caller: Caller): readonly WatchKey[] {
  const { token, workload } = caller;
  const policies = policyNamesOf(caller).map((name): WatchKey => ['acl_policy', name]);
  if (workload)
    return [
      ['allocs', workload.allocId],
      ['acl_policy', policiesOfWorkloads(workload.namespace)],
      ...wholeTables(['root_keys']),
      ...policies,
    ];
  if (!token) return policies;
  const roles = (token.Roles ?? []).map(({ ID }): WatchKey => ['acl_roles', ID]);
  return [['acl_token', token.AccessorID], ...roles, ...policies];
}

/** Returns the time in Unix milliseconds at which the caller's credential expires, or undefined if it never does. */
export function expiryMsOf({ token, workload }: Caller): number | undefined {
  if (workload) return workload.expiresAtMs;
  return token?.ExpirationTime ? Date.parse(token.ExpirationTime) : undefined;
}
