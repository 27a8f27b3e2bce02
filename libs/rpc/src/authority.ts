import type { Requirement, RequirementContext } from '@waybill/acl';
import { Refusal } from '@waybill/model';
import type { Role, Tables } from '@waybill/state';
import { z } from 'zod';

/**
 * Says that the holder of a role makes a call (AU-253). Nothing of it is secret: it proves nothing without the key with
 * which the caller connects to NATS (AU-260).
 */
export interface CallFence {
  readonly Role: Role;
  readonly Epoch: number;
  readonly Holder: string;
}

/**
 * Names the user for whom a service makes a call (AU-258). It contains no secret: the process that answers looks up
 * what the user may do. `AtIndex` is the index of the newest of the user's token, roles and policies; an answering
 * process that is behind waits for it.
 */
export type CallUser =
  /** Access control is off, so everybody may do everything. */
  | { readonly Kind: 'everybody' }
  | { readonly Kind: 'anonymous'; readonly AtIndex: number }
  | { readonly Kind: 'token'; readonly AccessorID: string; readonly AtIndex: number }
  /** A task or service with the identity of its allocation; `Task` is empty for a service. */
  | { readonly Kind: 'workload'; readonly AllocID: string; readonly Task: string; readonly AtIndex: number }
  /** A machine that reads the disk of an allocation on another machine (AG-224). */
  | { readonly Kind: 'node'; readonly NodeID: string; readonly AtIndex: number };

/** On whose authority a call is made: that of a role, or that of a user. */
export type Authority = { readonly fence: CallFence } | { readonly user: CallUser };

/** A right that a user needs, about one object. */
export interface NeededRight {
  readonly requirement: Requirement;
  readonly about: RequirementContext;
}

/**
 * Returns the rights that a user needs for a request; all of them are needed. The list is empty if the request names an
 * object that does not exist: there is nothing to protect, and the handler says so.
 */
export type UserNeeds<Req> = (request: Req, tables: Tables) => readonly NeededRight[];

/**
 * What the answering process of a call asks of its caller, besides the key of a service. `Req` is the type of the call's
 * requests; `never` stands for the calls of all types.
 */
export interface CallProtection<Req = never> {
  readonly name: string;
  /** Only the present holder of this role may make the call. */
  readonly fencedBy?: Role | undefined;
  /** The call is made for a user who needs these rights. The process that answers checks them again (OP-172). */
  readonly userNeeds?: UserNeeds<Req> | undefined;
  /** Whether a machine may make the request. Absent if none may. */
  readonly admitsNode?: ((request: Req, tables: Tables, nodeId: string) => boolean) | undefined;
}

export const isProtected = ({ fencedBy, userNeeds }: CallProtection): boolean =>
  fencedBy !== undefined || userNeeds !== undefined;

/** Decides whether a call may be made on an authority. */
export interface CallGuard {
  /** @throws Refusal forbidden; retryable for a deposed holder; unavailable if no process can decide at present */
  admit(call: CallProtection, request: unknown, authority: Authority | undefined): Promise<void>;
}

/** Guard of a process that answers no protected call: it admits nobody. */
export const NOBODY_ADMITTED: CallGuard = {
  admit: () => Promise.reject(notAdmitted()),
};

export const notAdmitted = (): Refusal => new Refusal('forbidden', 'Permission denied');

/** Header of a call with the authority on which it is made. */
export const AUTHORITY_HEADER = 'Waybill-Authority';

const text = z.string().max(256);
const index = z.int().nonnegative();
const FENCE = z.strictObject({ Role: text, Epoch: index, Holder: text });
const USER = z.discriminatedUnion('Kind', [
  z.strictObject({ Kind: z.literal('everybody') }),
  z.strictObject({ Kind: z.literal('anonymous'), AtIndex: index }),
  z.strictObject({ Kind: z.literal('token'), AccessorID: text, AtIndex: index }),
  z.strictObject({ Kind: z.literal('workload'), AllocID: text, Task: text, AtIndex: index }),
  z.strictObject({ Kind: z.literal('node'), NodeID: text, AtIndex: index }),
]);
const AUTHORITY = z.union([z.strictObject({ fence: FENCE }), z.strictObject({ user: USER })]);

export const CALL_USER: z.ZodType<CallUser> = USER;

/** Returns undefined if the header is absent. @throws Refusal forbidden if it has another form */
export function authorityOf(header: string | undefined): Authority | undefined {
  if (header === undefined || header === '') return undefined;
  const parsed = AUTHORITY.safeParse(jsonOf(header));
  if (!parsed.success) throw new Refusal('forbidden', 'Permission denied: the authority of the call cannot be read');
  return parsed.data as Authority;
}

function jsonOf(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}
