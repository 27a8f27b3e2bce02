import { Acl, type Workload } from '@waybill/acl';
import { type AclToken, ANONYMOUS_POLICY } from '@waybill/model';
import type { TokenGrants } from '@waybill/projection';
import type { Actor } from '@waybill/state';

/** A caller with the identity of a task or of a service. */
export interface WorkloadCaller extends Workload {
  readonly allocId: string;
  /** Name of the identity. */
  readonly identity: string;
  /** Names of its policies. */
  readonly policies: readonly string[];
  /** Unix ms; undefined: it lives as long as its allocation. */
  readonly expiresAtMs: number | undefined;
}

/** Who sent a request, and what they may do. Fixed for the whole request (OP-117). */
export interface Caller {
  /** How the log names them; never a secret (OP-116). */
  readonly actor: Actor;
  readonly acl: Acl;
  /** Their token with its roles and policies; undefined for the anonymous caller, and while access control is off. */
  readonly grants: TokenGrants | undefined;
  /** Their token as it is stored. */
  readonly token: AclToken | undefined;
  /** The task or service whose identity was sent; undefined: none was. */
  readonly workload?: WorkloadCaller | undefined;
}

const NOBODY: Actor = { Kind: 'anonymous', ID: '', Name: 'anonymous' };

/** A caller without token: what the policy `anonymous` grants (OP-112). */
export const anonymous = (acl: Acl): Caller => ({ actor: NOBODY, acl, grants: undefined, token: undefined });

/** Every caller while access control is off: everything is allowed, and nobody is named (OP-110). */
export const EVERYBODY: Caller = anonymous(Acl.management);

/** A caller with a valid token. */
export const withToken = (grants: TokenGrants, acl: Acl): Caller => ({
  actor: { Kind: 'token', ID: grants.token.AccessorID, Name: grants.token.Name },
  acl,
  grants,
  token: grants.token,
});

/** The caller's identity as text, as a drain records it (DR-17). */
export function identityText(caller: Caller): string {
  if (caller.workload) return `alloc:${caller.workload.allocId}`;
  if (caller.token) return `token:${caller.token.AccessorID}`;
  return caller === EVERYBODY ? 'token:acls-disabled' : 'token:anonymous';
}

/** The policies that a caller has, by name, also those that do not exist yet: a blocked list wakes when they do. */
export function policyNamesOf({ grants, workload }: Caller): string[] {
  if (workload) return [...workload.policies];
  if (!grants) return [ANONYMOUS_POLICY];
  const { token, roles } = grants;
  return [...new Set([...(token.Policies ?? []), ...roles.flatMap((role) => role.Policies.map(({ Name }) => Name))])];
}
