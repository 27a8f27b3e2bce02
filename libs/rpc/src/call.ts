import { isRefusal, Refusal } from '@waybill/model';
import type { Role } from '@waybill/state';
import { z } from 'zod';

/** A request as it travels, where JSON of it as it is would be much longer. */
export interface WireForm<Req> {
  write(request: Req): unknown;
  read(written: unknown): Req;
}

/**
 * One question a service answers. RPC is for asking, never for changing state around the log.
 * The subject is `rpc.<name>`, or `rpc.<name>.<target>` for calls that go to one machine's agent, or
 * `region.<region>.<name>` for calls that another region answers.
 */
export interface Call<Req, Res> {
  /** `<service>.<method>`. */
  readonly name: string;
  /** Only the holder of this role answers; undefined: any replica, one of them per request. */
  readonly role: Role | undefined;
  /** The asker gives up after this long, unless it says otherwise. */
  readonly timeoutMs: number;
  /** Requests that one answering process works on at once; undefined: as many as of any other call. */
  readonly maxInProgress: number | undefined;
  /** Answered to other regions, and to nobody else. */
  readonly betweenRegions: boolean;
  /**
   * It may take minutes, and one process alone can have taken it, a holder or a machine: whoever asks looks again and again
   * whether that is still at it, and gives up when it has died.
   */
  readonly watched: boolean;
  /** Of its requests; undefined: as they are. */
  readonly wireForm?: WireForm<Req> | undefined;
  /** Of its requests, which are refused if they have another; undefined: only services ask it, and are believed. */
  readonly request?: z.ZodType | undefined;
  /** Carries the types only. */
  readonly shape?: { readonly req: Req; readonly res: Res };
}

/** A call that machines ask, any of which may be in somebody else's hands. */
export interface MachineCall<Req, Res> extends Call<Req, Res> {
  readonly request: z.ZodType;
}

/** The shape of every member of a request. Of one that the service looks at itself: `z.unknown()`. */
export type RequestMembers<Req> = Readonly<Record<keyof Req, z.ZodType>>;

export interface CallOptions<Req = never> {
  readonly role?: Role;
  readonly timeoutMs?: number;
  readonly maxInProgress?: number;
  readonly betweenRegions?: boolean;
  readonly watched?: boolean;
  readonly wireForm?: WireForm<Req>;
}

/** Long enough for a write to be applied by a busy replica, short enough that a person does not wonder. */
export const DEFAULT_CALL_TIMEOUT_MS = 5_000;

export function call<Req, Res>(name: string, options: CallOptions<Req> = {}): Call<Req, Res> {
  const { role, timeoutMs = DEFAULT_CALL_TIMEOUT_MS, maxInProgress, betweenRegions = false } = options;
  const { watched = false, wireForm } = options;
  return { name, role, timeoutMs, maxInProgress, betweenRegions, watched, wireForm };
}

/** A call that machines ask. Members that are not named are let through: agents of a newer release may send them. */
export function machineCall<Req, Res>(
  name: string,
  members: RequestMembers<Req>,
  options: CallOptions<Req> = {},
): MachineCall<Req, Res> {
  return { ...call<Req, Res>(name, options), request: z.looseObject(members) };
}

/** @throws Refusal invalid, with the path to the first member of a request that is not of its call's shape */
export function checkRequest(shape: z.ZodType | undefined, request: unknown): void {
  const issue = shape?.safeParse(request).error?.issues[0];
  if (issue) throw new Refusal('invalid', `invalid ${['request', ...issue.path].join('.')}: ${issue.message}`);
}

/** Where whoever answers a watched call says whether it is still at one: a name of the same form. */
export const nameOfLook = (name: string): string => `${name}-under-way`;

/** Target tokens are node ids; anything else would change the subject's meaning. */
const TARGET = /^[A-Za-z0-9_-]{1,64}$/;

export function subjectOfCall(name: string, target?: string): string {
  if (target === undefined) return `rpc.${name}`;
  if (!TARGET.test(target)) throw new RangeError(`not a target of a call: ${JSON.stringify(target)}`);
  return `rpc.${name}.${target}`;
}

/** A region's name may have dots, which would make several tokens of it. */
export function subjectBetweenRegions(region: string, name: string): string {
  return `region.${encodeURIComponent(region).replaceAll('.', '%2E')}.${name}`;
}

export interface AskOptions {
  readonly target?: string;
  /** The region that answers, of a call between regions. */
  readonly region?: string;
  readonly timeoutMs?: number;
  readonly traceparent?: string | undefined;
}

/** Asks questions. Implemented over NATS (client.ts), and by the simulator. */
export interface Rpc {
  /**
   * @throws RpcError what the answering side refused or failed with; `too-large`: of the question, or of the answer
   * @throws RpcUnavailableError nobody answers: no holder, no replica, no connection, or too slow
   */
  ask<Req, Res>(call: Call<Req, Res>, request: Req, options?: AskOptions): Promise<Res>;
}

/** What the answering side refused, or failed with: the code and the text of what was thrown there. */
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

/** Why an ask failed that nobody was there to take. */
export const NO_RESPONDER = 'no responder';

/** Why an ask failed that was taken by somebody who has died since. */
export const GONE = 'whoever was asked is gone';

/** Nobody will answer any more, and nobody knows how far it got. */
export const isGone = (error: unknown): boolean => error instanceof RpcUnavailableError && error.reason === GONE;

/** The request was certainly not carried out: nobody holds the role, or whoever was asked does not serve it now. */
export function isNobodyThere(error: unknown): boolean {
  if (error instanceof RpcUnavailableError) return error.reason === NO_RESPONDER;
  return isRefusal(error, 'unavailable');
}
