import { Refusal, errorText } from '@waybill/model';
import { createInbox, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { applyDecorators, Catch, type RpcExceptionFilter, UseFilters } from '@nestjs/common';
import { BaseRpcContext, type CustomTransportStrategy, MessagePattern, Server } from '@nestjs/microservices';
import type { Role } from '@waybill/state';
import { lastValueFrom, type Observable, throwError } from 'rxjs';
import {
  type Authority,
  AUTHORITY_HEADER,
  authorityOf,
  type CallGuard,
  type CallProtection,
  isProtected,
  NOBODY_ADMITTED,
} from './authority.js';
import { type Call, checkRequest, livenessCallName, subjectBetweenRegions, subjectOfCall } from './call.js';
import { NO_RESPONDERS_STATUS, type Reply } from './client.js';
import { encoded, maxMessageBytes, tooLarge } from './message-size.js';

/**
 * Default limit of requests of one call in progress. Further ones are refused with code `limit`, so that a flood cannot
 * fill the memory. Each call has its own count, because waiting reads must not displace heartbeats.
 */
export const MAX_REQUESTS_IN_PROGRESS = 4_096;

/**
 * Longest wait of a stopping server for the responses to accepted requests. A caller that waits longer calls another
 * process.
 */
export const MAX_LAST_ANSWERS_MS = 5_000;

/**
 * Number of responses that are watched for having no receiver. The NATS server reports that within a round trip, so
 * older ones were received.
 */
export const MAX_WATCHED_ANSWERS = 4_096;

const EMPTY = new Uint8Array();

/** Calls back if the caller's connection to NATS is gone, and does nothing while it exists. */
export type CheckCaller = (ifGone: () => void) => void;

/** Context of a handler beside the request: `@Ctx() ctx: RpcContext`. */
export class RpcContext extends BaseRpcContext<
  [traceparent: string | undefined, checkCaller?: CheckCaller, authorityHeader?: string, machine?: string]
> {
  /** W3C trace context of the caller. */
  get traceparent(): string | undefined {
    return this.args[0];
  }

  /**
   * The authority on which the call is made. The guard has admitted it if the call is protected. @throws Refusal
   * forbidden if it cannot be read
   */
  get authority(): Authority | undefined {
    return authorityOf(this.args[2]);
  }

  /** The node ID in the subject: NATS has admitted the caller as this machine. Undefined if the subject names none. */
  get machine(): string | undefined {
    return this.args[3];
  }

  private unheard: (() => void) | undefined;

  /**
   * Calls `run` if the response is not received, because the caller has died. For a response that hands over work. Not
   * called if the connection to NATS itself breaks.
   */
  ifUndelivered(run: () => void): void {
    this.unheard = run;
  }

  get onUndelivered(): (() => void) | undefined {
    return this.unheard;
  }

  /**
   * Checks whether the caller still exists, for a caller that works on the response. It may be called any number of
   * times, but only after the response. It costs one message to the caller's connection, which ignores it. Where
   * callers cannot be lost, it never calls back.
   */
  checkCaller(ifGone: () => void): void {
    this.args[1]?.(ifGone);
  }
}

/** The members of a call that its answering process needs. */
type AnswerExtras = Pick<
  Call<unknown, unknown>,
  | 'role'
  | 'maxInProgress'
  | 'betweenRegions'
  | 'watched'
  | 'namesMachine'
  | 'wireForm'
  | 'request'
  | 'fencedBy'
  | 'userNeeds'
  | 'admitsNode'
>;

/**
 * Catches all errors. Without it, Nest would replace every error, with its code and text, by "Internal server error".
 */
@Catch()
class AsItIs implements RpcExceptionFilter {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}

/** Marks a controller method as the handler of a call: `@Answers(dequeue) dequeue(request: DequeueRequest) {…}`. */
export function Answers<Req, Res>(answered: Call<Req, Res>): MethodDecorator {
  const extras: AnswerExtras = {
    role: answered.role,
    maxInProgress: answered.maxInProgress,
    betweenRegions: answered.betweenRegions,
    watched: answered.watched,
    namesMachine: answered.namesMachine,
    wireForm: answered.wireForm,
    request: answered.request,
    fencedBy: answered.fencedBy,
    userNeeds: answered.userNeeds,
    admitsNode: answered.admitsNode,
  };
  return applyDecorators(MessagePattern<string>(answered.name, undefined, extras), UseFilters(new AsItIs()));
}

export interface RpcServerOptions {
  /** For calls to one machine: only requests for this target are answered. */
  readonly target?: string;
  /** The region whose calls between regions are answered here, or undefined. */
  readonly region?: string;
  /** Subjects on which this connection may receive messages. By default any. */
  readonly inboxPrefix?: string;
  /** Admits callers to protected calls. By default it admits nobody. */
  readonly guard?: CallGuard;
  /** Called for every response, with its duration in milliseconds. */
  readonly onAnswer?: (call: string, isRefused: boolean, tookMs: number) => void;
  /** Called for every failure other than a `Refusal`. The caller gets the code `internal` and its text. */
  readonly onError?: (call: string, error: unknown) => void;
}

/**
 * The Nest transport of RPC. It subscribes to the subject of every `@Answers` method.
 *
 * Modes: closed → listening → ending → closed. While listening, calls that any replica answers share a queue group
 * named after the call, so one replica answers each. Calls of a role are subscribed only between `enter(role)` and
 * `leave(role)`, so that without a holder the caller gets "no responder" at once instead of waiting. While ending, no
 * new request is accepted, and accepted ones are answered within MAX_LAST_ANSWERS_MS. Limits: MAX_REQUESTS_IN_PROGRESS
 * per call. Cost: one subscription per call, two per watched call.
 */
export class RpcServer extends Server implements CustomTransportStrategy {
  override readonly transportId = Symbol('waybill-rpc');
  private readonly subscriptions = new Map<string, Subscription>();
  private readonly roles = new Set<Role>();
  /** Subject on which NATS reports responses without a receiver. */
  private readonly returns: string;
  private readonly watched = new Map<string, () => void>();
  private answers = 0;
  /** Requests in progress, by the subject of their response. */
  private readonly inProgressReplies = new Set<string>();
  /** Requests in progress, by call. */
  private readonly inProgress = new Map<string, number>();
  /** Accepted requests of all calls without a response yet. */
  private unanswered = 0;
  private allAnswered: () => void = () => {};
  private listening = false;

  constructor(
    private readonly nc: NatsConnection,
    private readonly options: RpcServerOptions = {},
  ) {
    super();
    this.returns = createInbox(options.inboxPrefix);
  }

  listen(done: (error?: unknown) => void): void {
    this.listening = true;
    this.subscriptions.set(
      this.returns,
      this.nc.subscribe(`${this.returns}.*`, { callback: (error, msg) => void (error ?? this.onReturn(msg)) }),
    );
    this.subscribeAllowed();
    done();
  }

  /** Accepts no new requests. Callers then reach other processes, or none. */
  async end(): Promise<void> {
    this.listening = false;
    const open = [...this.subscriptions].filter(([name]) => name !== this.returns);
    for (const [name] of open) this.subscriptions.delete(name);
    await Promise.all(open.map(([, subscription]) => subscription.drain().catch(() => undefined)));
  }

  async close(): Promise<void> {
    await this.end();
    await this.lastAnswers();
    this.subscriptions.get(this.returns)?.unsubscribe();
    this.subscriptions.clear();
  }

  private async lastAnswers(): Promise<void> {
    if (this.unanswered === 0) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, MAX_LAST_ANSWERS_MS);
      this.allAnswered = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }

  /** Subscribes to the calls of a role that this process now holds. */
  enter(role: Role): void {
    this.roles.add(role);
    if (this.listening) this.subscribeAllowed();
  }

  /** Unsubscribes from the calls of a role at once when it is lost. */
  leave(role: Role): void {
    this.roles.delete(role);
    for (const [name, handler] of this.messageHandlers)
      if (roleOf(handler.extras) === role) for (const one of [name, livenessCallName(name)]) this.unsubscribe(one);
  }

  private unsubscribe(name: string): void {
    this.subscriptions.get(name)?.unsubscribe();
    this.subscriptions.delete(name);
  }

  override on(): never {
    throw new Error('RpcServer has no events');
  }

  override unwrap<T>(): T {
    return this.nc as T;
  }

  private subscribeAllowed(): void {
    for (const [name, handler] of this.messageHandlers) {
      const role = roleOf(handler.extras);
      const subject = this.subjectOf(name, handler.extras);
      if (subject === undefined || this.subscriptions.has(name) || (role !== undefined && !this.roles.has(role)))
        continue;
      const callback = (error: Error | null, msg: Msg): void => {
        if (!error && mayBeAnswered(msg)) void this.takeRequest(name, msg);
      };
      const fromMachine = (error: Error | null, msg: Msg): void => {
        if (!error && mayBeAnswered(msg)) void this.takeRequest(name, msg, msg.subject.slice(subject.length + 1));
      };
      // A holder is alone. It must not share a queue group with a predecessor that does not yet know that it is
      // deposed.
      const queue = role === undefined && this.options.target === undefined ? { queue: name } : {};
      this.subscriptions.set(name, this.nc.subscribe(subject, { ...queue, callback }));
      if (handler.extras?.['namesMachine'] === true)
        this.subscriptions.set(`${name}.*`, this.nc.subscribe(`${subject}.*`, { ...queue, callback: fromMachine }));
      if (handler.extras?.['watched'] === true) this.answerLivenessChecks(name);
    }
  }

  /** Answers callers who check whether their watched call is still in progress. */
  private answerLivenessChecks(name: string): void {
    const liveness = livenessCallName(name);
    const callback = (error: Error | null, msg: Msg): void => {
      if (!error && mayBeAnswered(msg)) msg.respond(JSON.stringify(this.inProgressReplies.has(msg.string())));
    };
    this.subscriptions.set(liveness, this.nc.subscribe(subjectOfCall(liveness, this.options.target), { callback }));
  }

  private subjectOf(name: string, extras: Record<string, unknown> | undefined): string | undefined {
    const { region, target } = this.options;
    if (extras?.['betweenRegions'] !== true) return subjectOfCall(name, target);
    return region === undefined ? undefined : subjectBetweenRegions(region, name);
  }

  /** @param machine the node ID in the subject */
  private async takeRequest(name: string, msg: Msg, machine?: string): Promise<void> {
    const { reply = '' } = msg;
    this.unanswered++;
    this.inProgressReplies.add(reply);
    try {
      await this.answer(name, msg, machine);
    } finally {
      this.inProgressReplies.delete(reply);
      if (--this.unanswered === 0) this.allAnswered();
    }
  }

  private async answer(name: string, msg: Msg, machine: string | undefined): Promise<void> {
    // Sends a message to the subject of the response. NATS returns it if that subject has no subscriber any more.
    const { reply: to } = msg;
    const checkCaller: CheckCaller = (ifGone) => this.publishWatched(to, EMPTY, ifGone);
    const beganMs = performance.now();
    const { headers } = msg;
    const context = new RpcContext([
      headers?.get('traceparent') || undefined,
      checkCaller,
      headers?.get(AUTHORITY_HEADER),
      machine,
    ]);
    const answer = await this.replyTo(name, msg, context);
    this.options.onAnswer?.(name, 'error' in answer, performance.now() - beganMs);
    if (this.nc.isClosed()) return; // nobody can be answered any more
    const reply = this.bodyOf(name, answer);
    const { onUndelivered } = context;
    if (onUndelivered) this.publishWatched(to, reply, onUndelivered);
    else msg.respond(reply);
  }

  /** Encodes a response. One that is too large for NATS is replaced by a refusal. */
  private bodyOf(name: string, answer: Reply): Uint8Array {
    const limit = maxMessageBytes(this.nc);
    const body = written(answer);
    if (body && body.length <= limit) return body;
    const { code, message } = tooLarge('answer', name, body?.length, limit);
    return encoded(JSON.stringify({ error: { code, message } } satisfies Reply));
  }

  private publishWatched(to: string | undefined, body: Uint8Array, onUndelivered: () => void): void {
    if (to && !this.nc.isClosed()) this.nc.publish(to, body, { reply: this.watch(onUndelivered) });
  }

  private watch(onUndelivered: () => void): string {
    const subject = `${this.returns}.${(++this.answers).toString(36)}`;
    this.watched.set(subject, onUndelivered);
    if (this.watched.size > MAX_WATCHED_ANSWERS)
      for (const oldest of this.watched.keys()) {
        this.watched.delete(oldest);
        break;
      }
    return subject;
  }

  private onReturn(msg: Msg): void {
    const onUndelivered = this.watched.get(msg.subject);
    this.watched.delete(msg.subject);
    if (msg.headers?.code === NO_RESPONDERS_STATUS) onUndelivered?.();
  }

  private async replyTo(name: string, msg: Msg, context: RpcContext): Promise<Reply> {
    const handler = this.messageHandlers.get(name);
    const others = this.inProgress.get(name) ?? 0;
    if (others >= limitOf(handler?.extras))
      return { error: { code: 'limit', message: `${name}: too many requests in progress` } };
    this.inProgress.set(name, others + 1);
    try {
      if (!handler) return { error: { code: 'unavailable', message: `${name} is not answered here` } };
      const { wireForm, request: shape } = (handler.extras ?? {}) as Partial<AnswerExtras>;
      const written = msg.json<unknown>();
      const request = wireForm?.read(written) ?? written;
      checkRequest(shape, request);
      await this.admit(name, handler.extras, request, context);
      const answer = this.transformToObservable(await handler(request, context));
      return { ok: await lastValueFrom(answer, { defaultValue: null }) };
    } catch (error) {
      return { error: this.errorOf(name, error) };
    } finally {
      this.inProgress.set(name, (this.inProgress.get(name) ?? 1) - 1);
    }
  }

  /** @throws Refusal if the call is protected and its caller has no right to make it (AU-253, OP-172) */
  private async admit(name: string, extras: unknown, request: unknown, context: RpcContext): Promise<void> {
    const call: CallProtection = { ...(extras as Partial<AnswerExtras> | undefined), name };
    if (isProtected(call)) await (this.options.guard ?? NOBODY_ADMITTED).admit(call, request, context.authority);
  }

  private errorOf(name: string, error: unknown): Extract<Reply, { error: unknown }>['error'] {
    if (error instanceof Refusal) return { code: error.code, message: error.message };
    this.options.onError?.(name, error);
    return { code: 'internal', message: errorText(error) };
  }
}

/** Returns undefined if the text would be too long. @throws other errors of JSON, which are bugs */
function written(answer: Reply): Uint8Array | undefined {
  try {
    return encoded(JSON.stringify(answer));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * Whether a request has a valid return address. This process may publish to any subject and a caller may not, so a
 * response to, for example, the log would be published with this process's rights. Requests with such an address are
 * ignored.
 */
function mayBeAnswered(msg: Msg): boolean {
  return msg.reply === undefined || msg.reply === '' || msg.reply.startsWith('_INBOX.');
}

function roleOf(extras: Record<string, unknown> | undefined): Role | undefined {
  return extras?.['role'] as Role | undefined;
}

function limitOf(extras: Record<string, unknown> | undefined): number {
  const limit = extras?.['maxInProgress'];
  return typeof limit === 'number' ? limit : MAX_REQUESTS_IN_PROGRESS;
}
