import { type RefusalCode, errorText } from '@waybill/model';
import { createInbox, headers, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import {
  type AskOptions,
  type Call,
  GONE,
  nameOfLook,
  NO_RESPONDER,
  type Rpc,
  RpcError,
  RpcUnavailableError,
  subjectBetweenRegions,
  subjectOfCall,
} from './call.js';
import { encoded, maxMessageBytes, tooLarge } from './message-size.js';

/** What travels back. */
export type Reply =
  | { readonly ok: unknown }
  | { readonly error: { readonly code: RefusalCode; readonly message: string } };

/** Status of a message that comes back because nobody subscribes its subject. */
export const NO_RESPONDERS_STATUS = 503;

/** A watched ask is looked after this often. */
const LOOK_INTERVAL_MS = 5_000;
const LOOK_TIMEOUT_MS = 5_000;
/** That nobody hears a look may be a connection that is being made again; so often in a row it is not. */
const MAX_UNHEARD_LOOKS = 2;

/** The NATS server says that nobody subscribes to the subject of a call. */
class NoResponderError extends Error {
  override readonly name = 'NoResponderError';
  constructor() {
    super(NO_RESPONDER);
  }
}

/** An ask in flight. */
interface Asked {
  readonly timer: NodeJS.Timeout;
  /** The next look after it. */
  look?: NodeJS.Timeout;
  readonly answer: (msg: Msg) => void;
  readonly fail: (error: Error) => void;
}

/**
 * `Rpc` over NATS request/reply.
 *
 * All answers come in by one subscription, which is made at the first ask and lives as long as the connection; each ask
 * has a subject of its own below it. An ask ends exactly once: by its answer, by word of the server that nobody is there
 * to take it, by its timeout, or with the connection; a watched one also when whoever took it has died. What comes later
 * finds nobody. A connection that is lost and comes back ends nothing: asks that were on their way run into their timeouts.
 * Not the client's own `request`, which builds two errors with their stack traces for each request that succeeds: a
 * tenth of what a process of workers did.
 * Cost: one entry and one timer per ask in flight; a message to and fro every LOOK_INTERVAL_MS per watched one.
 */
export class NatsRpc implements Rpc {
  private readonly inbox: string;
  private answers: Subscription | undefined;
  /** By the subject of the answer. */
  private readonly asks = new Map<string, Asked>();
  private asked = 0;

  /** @param inboxPrefix where this connection may listen for answers; default: anywhere */
  constructor(
    private readonly nc: NatsConnection,
    inboxPrefix?: string,
    private readonly lookIntervalMs = LOOK_INTERVAL_MS,
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
      const { region, target, traceparent, timeoutMs = call.timeoutMs } = options;
      const subject =
        region === undefined ? subjectOfCall(call.name, target) : subjectBetweenRegions(region, call.name);
      const look = call.watched ? subjectOfCall(nameOfLook(call.name), target) : undefined;
      const msg = await this.exchange(subject, body, timeoutMs, { traceparent, look });
      return msg.json<Reply>();
    } catch (error) {
      throw new RpcUnavailableError(call.name, errorText(error));
    }
  }

  /** @throws why there is no answer; whatever the connection refuses to send with: it is closed */
  private exchange(
    subject: string,
    body: Uint8Array,
    timeoutMs: number,
    { traceparent, look }: { readonly traceparent?: string | undefined; readonly look?: string | undefined } = {},
  ): Promise<Msg> {
    this.answers ??= this.nc.subscribe(`${this.inbox}.*`, { callback: (error, msg) => this.heard(error, msg) });
    const reply = `${this.inbox}.${(++this.asked).toString(36)}`;
    this.nc.publish(subject, body, { reply, ...(traceparent && { headers: tracing(traceparent) }) });
    return new Promise((answer, fail) => {
      const timer = setTimeout(() => this.takeAsked(reply)?.fail(new Error('timeout')), timeoutMs);
      this.asks.set(reply, { answer, fail, timer });
      if (look !== undefined) this.lookAfter(reply, look, 0);
    });
  }

  /** @param unheard looks in a row that nobody heard */
  private lookAfter(reply: string, subject: string, unheard: number): void {
    const asked = this.asks.get(reply);
    if (asked) asked.look = setTimeout(() => void this.checkUnderWay(reply, subject, unheard), this.lookIntervalMs);
  }

  private async checkUnderWay(reply: string, subject: string, unheardBefore: number): Promise<void> {
    const found = await this.isUnderWay(reply, subject);
    const unheard = found === 'nobody' ? unheardBefore + 1 : 0;
    if (found === 'gone' || unheard >= MAX_UNHEARD_LOOKS) this.takeAsked(reply)?.fail(new Error(GONE));
    else this.lookAfter(reply, subject, unheard);
  }

  /** An answer that is on its way was sent before anybody could say that it is not under way. */
  private async isUnderWay(reply: string, subject: string): Promise<'yes' | 'gone' | 'nobody' | 'unknown'> {
    try {
      const msg = await this.exchange(subject, encoded(reply), LOOK_TIMEOUT_MS);
      return msg.json<boolean>() ? 'yes' : 'gone';
    } catch (error) {
      return error instanceof NoResponderError ? 'nobody' : 'unknown';
    }
  }

  private heard(refused: Error | null, msg: Msg): void {
    if (refused) {
      this.answers = undefined; // the next ask subscribes again
      this.failAll(refused);
      return;
    }
    const nobodyThere = msg.data.length === 0 && msg.headers?.code === NO_RESPONDERS_STATUS;
    const asked = this.takeAsked(msg.subject);
    if (nobodyThere) asked?.fail(new NoResponderError());
    else asked?.answer(msg);
  }

  /** Whoever takes an ask ends it; undefined: it has ended before. */
  private takeAsked(reply: string): Asked | undefined {
    const asked = this.asks.get(reply);
    this.asks.delete(reply);
    clearTimeout(asked?.timer);
    clearTimeout(asked?.look);
    return asked;
  }

  private failAll(error: Error): void {
    for (const reply of this.asks.keys()) this.takeAsked(reply)?.fail(error);
  }
}

function tracing(traceparent: string): ReturnType<typeof headers> {
  const h = headers();
  h.set('traceparent', traceparent);
  return h;
}
