import { isRefusal, Refusal } from '@waybill/model';
import type { Role } from '@waybill/state';
import { z } from 'zod';
import type { Authority, CallProtection } from './authority.js';

/** The wire form of a request whose JSON would otherwise be much longer. */
export interface WireForm<Req> {
  write(request: Req): unknown;
  read(written: unknown): Req;
}

/**
 * One call that a service answers. Calls query services and never change state around the log. The subject is
 * `rpc.<name>`, or `rpc.<name>.<target>` for calls to one machine's agent, or `region.<region>.<name>` for calls to
 * another region.
 */
export interface Call<Req, Res> extends CallProtection {
  /** Name of the form `<service>.<method>`. */
  readonly name: string;
  /** Only the holder of this role answers. Undefined if any replica may answer. */
  readonly role: Role | undefined;
  /** Default timeout of the caller. */
  readonly timeoutMs: number;
  /** Most requests that one process serves at once. Undefined for the default. */
  readonly maxInProgress: number | undefined;
  /** Whether only other regions may call. */
  readonly betweenRegions: boolean;
  /**
   * Whether the call may take minutes at a single process, a holder or a machine. The caller then checks regularly
   * whether the process still works on it, and gives up if the process has died.
   */
  readonly watched: boolean;
  /**
   * Whether the subject may name the machine that calls, `rpc.<name>.<node id>`. NATS then lets a machine make the call
   * for itself only (AU-263).
   */
  readonly namesMachine: boolean;
  /** Wire form of its requests. Undefined for plain JSON. */
  readonly wireForm?: WireForm<Req> | undefined;
  /**
   * Schema of its requests, which are refused if they do not match. Undefined for calls of services, which are trusted.
   */
  readonly request?: z.ZodType | undefined;
  /** Carries only the types. */
  readonly shape?: { readonly req: Req; readonly res: Res };
}

/** A call that machines make. Any machine may be compromised, so its requests are checked. */
export interface MachineCall<Req, Res> extends Call<Req, Res> {
  readonly request: z.ZodType;
}

/** Schema of every member of a request. A member that the service checks itself is `z.unknown()`. */
export type RequestMembers<Req> = Readonly<Record<keyof Req, z.ZodType>>;

export interface CallOptions<Req = never> extends Omit<CallProtection<Req>, 'name'> {
  readonly role?: Role;
  readonly timeoutMs?: number;
  readonly maxInProgress?: number;
  readonly betweenRegions?: boolean;
  readonly watched?: boolean;
  readonly namesMachine?: boolean;
  readonly wireForm?: WireForm<Req>;
}

/** Default timeout: long enough for a busy replica to apply a write, short enough for a user to wait. */
export const DEFAULT_CALL_TIMEOUT_MS = 5_000;

export function call<Req, Res>(name: string, options: CallOptions<Req> = {}): Call<Req, Res> {
  const { role, timeoutMs = DEFAULT_CALL_TIMEOUT_MS, maxInProgress, betweenRegions = false } = options;
  const { watched = false, namesMachine = false, wireForm, fencedBy, userNeeds, admitsNode } = options;
  const protection = { name, fencedBy, userNeeds, admitsNode };
  return { ...protection, role, timeoutMs, maxInProgress, betweenRegions, watched, namesMachine, wireForm };
}

/**
 * Declares a call that machines make. Unknown members are accepted, because agents of a newer release may send them.
 */
export function machineCall<Req, Res>(
  name: string,
  members: RequestMembers<Req>,
  options: CallOptions<Req> = {},
): MachineCall<Req, Res> {
  return { ...call<Req, Res>(name, options), request: z.looseObject(members) };
}

/** @throws Refusal invalid, with the path to the first member that does not match the call's schema */
export function checkRequest(shape: z.ZodType | undefined, request: unknown): void {
  const issue = shape?.safeParse(request).error?.issues[0];
  if (issue) throw new Refusal('invalid', `invalid ${['request', ...issue.path].join('.')}: ${issue.message}`);
}

/** Returns the name on which the answering process tells whether it still works on a watched call. */
export const livenessCallName = (name: string): string => `${name}-under-way`;

/** Target tokens are node IDs. Any other character could change the meaning of the subject. */
const TARGET = /^[A-Za-z0-9_-]{1,64}$/;

export function subjectOfCall(name: string, target?: string): string {
  if (target === undefined) return `rpc.${name}`;
  if (!TARGET.test(target)) throw new RangeError(`not a target of a call: ${JSON.stringify(target)}`);
  return `rpc.${name}.${target}`;
}

/** Returns a subject between regions. A region's name may contain dots, which would add tokens to the subject. */
export function subjectBetweenRegions(region: string, name: string): string {
  return `region.${encodeURIComponent(region).replaceAll('.', '%2E')}.${name}`;
}

export interface AskOptions {
  readonly target?: string;
  /** The node ID of the machine that makes a call whose subject names it. */
  readonly machine?: string;
  /** The region that answers, for a call between regions. */
  readonly region?: string;
  readonly timeoutMs?: number;
  readonly traceparent?: string | undefined;
  /** The authority on which a protected call is made. */
  readonly authority?: Authority | undefined;
}

/** Makes calls. Implemented over NATS (client.ts) and by the simulator. */
export interface Rpc {
  /**
   * @throws RpcError if the answering process refused or failed; `too-large` if the request or the response was
   * @throws RpcUnavailableError if there is no holder, no replica or no connection, or the call timed out
   */
  ask<Req, Res>(call: Call<Req, Res>, request: Req, options?: AskOptions): Promise<Res>;
}

/** The answering process refused the call or failed. Contains the code and text of its error. */
export class RpcError extends Refusal {
  override readonly name = 'RpcError';
}

export class RpcUnavailableError extends Error {
  override readonly name = 'RpcUnavailableError';
  constructor(
    readonly call: string,
    readonly reason: string,
  ) {
    super(`no answer to ${call}: ${reason}`);
  }
}

export const isTooLarge = (error: unknown): boolean => isRefusal(error, 'too-large');

/** Reason of a failed call that no process received. */
export const NO_RESPONDER = 'no responder';

/** Reason of a failed call whose process has died since. */
export const GONE = 'the answering process is gone';

/** Whether the answering process died. Nobody knows how far it got. */
export const isGone = (error: unknown): boolean => error instanceof RpcUnavailableError && error.reason === GONE;

/**
 * Whether the request was certainly not carried out: the role has no holder, or the process does not serve the call
 * now.
 */
export function isNobodyThere(error: unknown): boolean {
  if (error instanceof RpcUnavailableError) return error.reason === NO_RESPONDER;
  return isRefusal(error, 'unavailable');
}
