import { type RefusalCode, errorText } from '@waybill/model';
import { createInbox, headers, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { type Authority, AUTHORITY_HEADER } from './authority.js';
import {
  type AskOptions,
  type Call,
  GONE,
  livenessCallName,
  NO_RESPONDER,
  type Rpc,
  RpcError,
  RpcUnavailableError,
  subjectBetweenRegions,
  subjectOfCall,
} from './call.js';
import { encoded, maxMessageBytes, tooLarge } from './message-size.js';

/** The response on the wire. */
export type Reply =
  | { readonly ok: unknown }
  | { readonly error: { readonly code: RefusalCode; readonly message: string } };

/** Status of a message that NATS returns because its subject has no subscriber. */
export const NO_RESPONDERS_STATUS = 503;

/** Milliseconds between two checks of a watched call. */
const CHECK_INTERVAL_MS = 5_000;
const CHECK_TIMEOUT_MS = 5_000;
/** A missed check may be due to a reconnecting process. After this many in a row it is not. */
const MAX_MISSED_CHECKS = 2;

/** The NATS server reports that the subject of a call has no subscriber. */
class NoResponderError extends Error {
  override readonly name = 'NoResponderError';
  constructor() {
    super(NO_RESPONDER);
  }
}

/** What a call says beside its request. */
interface Told {
  readonly traceparent?: string | undefined;
  readonly authority?: Authority | undefined;
}

/** A call in flight. */
interface PendingCall {
  readonly timer: NodeJS.Timeout;
  /** Timer of the next check. */
  livenessTimer?: NodeJS.Timeout;
  readonly answer: (msg: Msg) => void;
  readonly fail: (error: Error) => void;
}

/**
 * `Rpc` over NATS request/reply.
 *
 * One subscription receives all responses. It is created with the first call and lives as long as the connection. Each
 * call has its own subject below it. A call ends exactly once: by its response, by the server's report that there is no
 * subscriber, by its timeout, or with the connection; a watched call also ends when its process has died. Later
 * messages are ignored. A lost connection that comes back ends no call, and calls that were on their way time out. The
 * NATS client's own `request` is not used, because it builds two errors with stack traces for each successful request,
 * a tenth of the work of a worker process. Cost: one entry and one timer per call in flight, and one round trip every
 * CHECK_INTERVAL_MS per watched call.
 */
export class NatsRpc implements Rpc {
  private readonly inbox: string;
  private responses: Subscription | undefined;
  /** Calls by the subject of their response. */
  private readonly pending = new Map<string, PendingCall>();
  private sent = 0;

  /** @param inboxPrefix subjects on which this connection may receive responses; by default any */
  constructor(
    private readonly nc: NatsConnection,
    inboxPrefix?: string,
    private readonly checkIntervalMs = CHECK_INTERVAL_MS,
  ) {
    this.inbox = createInbox(inboxPrefix);
    void nc.closed().then(() => this.failAll(new Error('connection closed')));
  }

  async ask<Req, Res>(call: Call<Req, Res>, request: Req, options: AskOptions = {}): Promise<Res> {
    const written = call.wireForm ? call.wireForm.write(request) : request;
    const body = encoded(JSON.stringify(written ?? null));
    const limit = maxMessageBytes(this.nc);
    if (body.length > limit) throw tooLarge('question', call.name, body.length, limit);
    const reply = await this.request(call, body, options);
    if ('error' in reply) throw new RpcError(reply.error.code, reply.error.message);
    return reply.ok as Res;
  }

  private async request(call: Call<unknown, unknown>, body: Uint8Array, options: AskOptions): Promise<Reply> {
    try {
      const { region, target, machine, traceparent, authority, timeoutMs = call.timeoutMs } = options;
      const subject =
        region === undefined ? subjectOfCall(call.name, target ?? machine) : subjectBetweenRegions(region, call.name);
      const livenessSubject = call.watched ? subjectOfCall(livenessCallName(call.name), target) : undefined;
      const msg = await this.exchange(subject, body, timeoutMs, { traceparent, authority, livenessSubject });
      return msg.json<Reply>();
    } catch (error) {
      throw new RpcUnavailableError(call.name, errorText(error));
    }
  }

  /** @throws the reason why there is no response, or any error of a closed connection */
  private exchange(
    subject: string,
    body: Uint8Array,
    timeoutMs: number,
    { livenessSubject, ...told }: Told & { readonly livenessSubject?: string | undefined } = {},
  ): Promise<Msg> {
    this.responses ??= this.nc.subscribe(`${this.inbox}.*`, { callback: (error, msg) => this.receive(error, msg) });
    const reply = `${this.inbox}.${(++this.sent).toString(36)}`;
    const headers = headersOf(told);
    this.nc.publish(subject, body, { reply, ...(headers && { headers }) });
    return new Promise((answer, fail) => {
      const timer = setTimeout(() => this.removePending(reply)?.fail(new Error('timeout')), timeoutMs);
      this.pending.set(reply, { answer, fail, timer });
      if (livenessSubject !== undefined) this.scheduleLivenessCheck(reply, livenessSubject, 0);
    });
  }

  /** @param missed number of missed checks in a row */
  private scheduleLivenessCheck(reply: string, subject: string, missed: number): void {
    const pending = this.pending.get(reply);
    if (pending)
      pending.livenessTimer = setTimeout(() => void this.checkLiveness(reply, subject, missed), this.checkIntervalMs);
  }

  private async checkLiveness(reply: string, subject: string, missedBefore: number): Promise<void> {
    const found = await this.isInProgress(reply, subject);
    const missed = found === 'nobody' ? missedBefore + 1 : 0;
    if (found === 'gone' || missed >= MAX_MISSED_CHECKS) this.removePending(reply)?.fail(new Error(GONE));
    else this.scheduleLivenessCheck(reply, subject, missed);
  }

  /**
   * Whether the process still works on the call. A response that is on its way was sent before the process could deny
   * that.
   */
  private async isInProgress(reply: string, subject: string): Promise<'yes' | 'gone' | 'nobody' | 'unknown'> {
    try {
      const msg = await this.exchange(subject, encoded(reply), CHECK_TIMEOUT_MS);
      return msg.json<boolean>() ? 'yes' : 'gone';
    } catch (error) {
      return error instanceof NoResponderError ? 'nobody' : 'unknown';
    }
  }

  private receive(refused: Error | null, msg: Msg): void {
    if (refused) {
      this.responses = undefined; // the next ask subscribes again
      this.failAll(refused);
      return;
    }
    const nobodyThere = msg.data.length === 0 && msg.headers?.code === NO_RESPONDERS_STATUS;
    const pending = this.removePending(msg.subject);
    if (nobodyThere) pending?.fail(new NoResponderError());
    else pending?.answer(msg);
  }

  /** Removes a call, so that its remover ends it. Returns undefined if it has already ended. */
  private removePending(reply: string): PendingCall | undefined {
    const pending = this.pending.get(reply);
    this.pending.delete(reply);
    clearTimeout(pending?.timer);
    clearTimeout(pending?.livenessTimer);
    return pending;
  }

  private failAll(error: Error): void {
    for (const reply of this.pending.keys()) this.removePending(reply)?.fail(error);
  }
}

function headersOf({ traceparent, authority }: Told): ReturnType<typeof headers> | undefined {
  if (!traceparent && !authority) return undefined;
  const h = headers();
  if (traceparent) h.set('traceparent', traceparent);
  if (authority) h.set(AUTHORITY_HEADER, JSON.stringify(authority));
  return h;
}
