import { Refusal, errorText } from '@waybill/model';
import { createInbox, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { applyDecorators, Catch, type RpcExceptionFilter, UseFilters } from '@nestjs/common';
import { BaseRpcContext, type CustomTransportStrategy, MessagePattern, Server } from '@nestjs/microservices';
import type { Role } from '@waybill/state';
import { lastValueFrom, type Observable, throwError } from 'rxjs';
import { type Call, checkRequest, nameOfLook, subjectBetweenRegions, subjectOfCall } from './call.js';
import { NO_RESPONDERS_STATUS, type Reply } from './client.js';
import { encoded, maxMessageBytes, tooLarge } from './message-size.js';

/**
 * Requests of one call in progress at once, unless the call says otherwise; more are refused with code `limit`, so that a
 * flood cannot eat the memory. Each call has its own count: reads that wait must not take the place of heartbeats.
 */
export const MAX_REQUESTS_IN_PROGRESS = 4_096;

/** A server that ends waits this long for the answers to what it has taken. Who waits longer asks somebody else. */
export const MAX_LAST_ANSWERS_MS = 5_000;

/** Messages watched for having no hearer; the server says so within a round trip, so older ones were heard. */
export const MAX_WATCHED_ANSWERS = 4_096;

const EMPTY = new Uint8Array();

/** Calls back if the asker's connection to NATS is gone; says nothing while it is there. */
export type LookForAsker = (ifGone: () => void) => void;

/** What a handler may want beside the request: `@Ctx() ctx: RpcContext`. */
export class RpcContext extends BaseRpcContext<[traceparent: string | undefined, look?: LookForAsker]> {
  /** W3C trace context of the asker. */
  get traceparent(): string | undefined {
    return this.args[0];
  }

  private unheard: (() => void) | undefined;

  /**
   * For an answer that hands something over: `run` is called if nobody listens for it any more, because the asker has
   * died. Not called when the connection to NATS itself breaks.
   */
  ifUnheard(run: () => void): void {
    this.unheard = run;
  }

  get onUnheard(): (() => void) | undefined {
    return this.unheard;
  }

  /**
   * For an asker that works on what it was answered: may be called any number of times, after the answer only. It costs
   * a message to the asker, who is not troubled by it. Where askers cannot be lost nothing is ever called back.
   */
  lookForAsker(ifGone: () => void): void {
    this.args[1]?.(ifGone);
  }
}

/** What of a call is needed to answer it. */
type AnswerExtras = Pick<
  Call<unknown, unknown>,
  'role' | 'maxInProgress' | 'betweenRegions' | 'watched' | 'wireForm' | 'request'
>;

/** Without it Nest replaces every error by "Internal server error" before we see it, our codes and texts with it. */
@Catch()
class AsItIs implements RpcExceptionFilter {
  catch(error: unknown): Observable<never> {
    return throwError(() => error);
  }
}

/** Marks a controller method as the answer to a call: `@Answers(dequeue) dequeue(request: DequeueRequest) {…}`. */
export function Answers<Req, Res>(answered: Call<Req, Res>): MethodDecorator {
  const extras: AnswerExtras = {
    role: answered.role,
    maxInProgress: answered.maxInProgress,
    betweenRegions: answered.betweenRegions,
    watched: answered.watched,
    wireForm: answered.wireForm,
    request: answered.request,
  };
  return applyDecorators(MessagePattern<string>(answered.name, undefined, extras), UseFilters(new AsItIs()));
}

export interface RpcServerOptions {
  /** For calls that go to one machine: only requests for this target are answered. */
  readonly target?: string;
  /** Whose calls between regions are answered here; undefined: none. */
  readonly region?: string;
  /** Where this connection may listen; default: anywhere. */
  readonly inboxPrefix?: string;
  /** Called for every request when its answer is there, with the milliseconds that took. */
  readonly onAnswer?: (call: string, isRefused: boolean, tookMs: number) => void;
  /** Called for every failure that is no `Refusal`; the asker sees code `internal` and its text. */
  readonly onError?: (call: string, error: unknown) => void;
}

/**
 * The Nest transport of our RPC: subscribes the subject of every `@Answers` method.
 *
 * Modes: closed → listening → ending → closed. While listening, calls that any replica answers share a queue group named after
 * the call, so one replica answers each; calls of a role are subscribed between `enter(role)` and `leave(role)` only,
 * so that without a holder the asker hears "no responder" at once instead of waiting. Ending: nothing new is taken, and what
 * was taken is answered, for at most MAX_LAST_ANSWERS_MS.
 * Limits: MAX_REQUESTS_IN_PROGRESS per call. Cost: one subscription per call, two per watched one.
 */
export class RpcServer extends Server implements CustomTransportStrategy {
  override readonly transportId = Symbol('waybill-rpc');
  private readonly subscriptions = new Map<string, Subscription>();
  private readonly roles = new Set<Role>();
  /** Where NATS reports answers that nobody listens for. */
  private readonly returns: string;
  private readonly watched = new Map<string, () => void>();
  private answers = 0;
  /** What is being answered, by where the answer is to go. */
  private readonly underWay = new Set<string>();
  /** By call. */
  private readonly inProgress = new Map<string, number>();
  /** Questions taken and not answered yet, of all calls. */
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
      this.nc.subscribe(`${this.returns}.*`, { callback: (_, msg) => this.onReturn(msg) }),
    );
    this.subscribeAllowed();
    done();
  }

  /** Takes no new questions: others are asked from now on, or nobody. */
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

  /** This process became the holder of the role: answer the role's calls. */
  enter(role: Role): void {
    this.roles.add(role);
    if (this.listening) this.subscribeAllowed();
  }

  /** No longer the holder: stop answering at once. */
  leave(role: Role): void {
    this.roles.delete(role);
    for (const [name, handler] of this.messageHandlers)
      if (roleOf(handler.extras) === role) for (const one of [name, nameOfLook(name)]) this.unsubscribe(one);
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
      // A holder is alone and must not share a queue with a predecessor that does not know yet that it is deposed.
      const queue = role === undefined && this.options.target === undefined ? { queue: name } : {};
      this.subscriptions.set(name, this.nc.subscribe(subject, { ...queue, callback }));
      if (handler.extras?.['watched'] === true) this.subscribeLooks(name);
    }
  }

  /** Of askers who want to know whether what they asked died with whoever took it. */
  private subscribeLooks(name: string): void {
    const look = nameOfLook(name);
    const callback = (error: Error | null, msg: Msg): void => {
      if (!error && mayBeAnswered(msg)) msg.respond(JSON.stringify(this.underWay.has(msg.string())));
    };
    this.subscriptions.set(look, this.nc.subscribe(subjectOfCall(look, this.options.target), { callback }));
  }

  private subjectOf(name: string, extras: Record<string, unknown> | undefined): string | undefined {
    const { region, target } = this.options;
    if (extras?.['betweenRegions'] !== true) return subjectOfCall(name, target);
    return region === undefined ? undefined : subjectBetweenRegions(region, name);
  }

  private async takeRequest(name: string, msg: Msg): Promise<void> {
    const { reply = '' } = msg;
    this.unanswered++;
    this.underWay.add(reply);
    try {
      await this.answer(name, msg);
    } finally {
      this.underWay.delete(reply);
      if (--this.unanswered === 0) this.allAnswered();
    }
  }

  private async answer(name: string, msg: Msg): Promise<void> {
    // A message to where the answer went: the server returns it if nobody listens there any more.
    const { reply: to } = msg;
    const look: LookForAsker = (ifGone) => this.publishWatched(to, EMPTY, ifGone);
    const context = new RpcContext([msg.headers?.get('traceparent') || undefined, look]);
    const beganMs = performance.now();
    const answer = await this.replyTo(name, msg, context);
    this.options.onAnswer?.(name, 'error' in answer, performance.now() - beganMs);
    if (this.nc.isClosed()) return; // nobody can be answered any more
    const reply = this.bodyOf(name, answer);
    const { onUnheard } = context;
    if (onUnheard) this.publishWatched(to, reply, onUnheard);
    else msg.respond(reply);
  }

  /** What NATS takes: an answer that is larger is none, and its asker is told. */
  private bodyOf(name: string, answer: Reply): Uint8Array {
    const limit = maxMessageBytes(this.nc);
    const body = written(answer);
    if (body && body.length <= limit) return body;
    const { code, message } = tooLarge('answer', name, body?.length, limit);
    return encoded(JSON.stringify({ error: { code, message } } satisfies Reply));
  }

  private publishWatched(to: string | undefined, body: Uint8Array, onUnheard: () => void): void {
    if (to && !this.nc.isClosed()) this.nc.publish(to, body, { reply: this.watch(onUnheard) });
  }

  private watch(onUnheard: () => void): string {
    const subject = `${this.returns}.${(++this.answers).toString(36)}`;
    this.watched.set(subject, onUnheard);
    if (this.watched.size > MAX_WATCHED_ANSWERS)
      for (const oldest of this.watched.keys()) {
        this.watched.delete(oldest);
        break;
      }
    return subject;
  }

  private onReturn(msg: Msg): void {
    const onUnheard = this.watched.get(msg.subject);
    this.watched.delete(msg.subject);
    if (msg.headers?.code === NO_RESPONDERS_STATUS) onUnheard?.();
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
      const answer = this.transformToObservable(await handler(request, context));
      return { ok: await lastValueFrom(answer, { defaultValue: null }) };
    } catch (error) {
      return { error: this.errorOf(name, error) };
    } finally {
      this.inProgress.set(name, (this.inProgress.get(name) ?? 1) - 1);
    }
  }

  private errorOf(name: string, error: unknown): Extract<Reply, { error: unknown }>['error'] {
    if (error instanceof Refusal) return { code: error.code, message: error.message };
    this.options.onError?.(name, error);
    return { code: 'internal', message: errorText(error) };
  }
}

/** undefined: longer than a text can be. @throws what else cannot be written, which is a bug */
function written(answer: Reply): Uint8Array | undefined {
  try {
    return encoded(JSON.stringify(answer));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * We may publish anywhere, an asker may not: an answer that he sends to the log, say, would be there with our rights.
 * Questions with such a return address are not even looked at.
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
