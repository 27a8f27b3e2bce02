import { errorText } from '@waybill/model';
import { createInbox } from '@nats-io/transport-node';
import type { Msg } from '@nats-io/transport-node';
import type { NatsLink } from './connection.js';
import { LogDivergedError, LogOverloadedError, LogUnavailableError } from './errors.js';
import { ReadyHeaders } from './ready-headers.js';

/** Messages that may be unacknowledged. JetStream loses none beyond it, but slows down above a few hundred. */
export const MAX_IN_FLIGHT = 256;
/** Publishes that may wait for a place; further ones are refused. */
export const MAX_QUEUED = 8192;
/** Timeout of a publish, milliseconds: writes are answered within 2 s when NATS is down. */
export const PUBLISH_DEADLINE_MS = 1_800;
/** Time after which an acknowledgement counts as lost and the message is sent again, milliseconds. */
export const ACK_TIMEOUT_MS = 600;
/** Pause before a message is sent again after the server answered that it cannot store it now, milliseconds. */
export const RETRY_PAUSE_MS = 50;

/** The server's answer to one message, or its absence. */
export type Ack =
  | { readonly kind: 'stored'; readonly sequence: number; readonly duplicate: boolean }
  | { readonly kind: 'wrong-sequence'; readonly actual: number | undefined }
  | { readonly kind: 'refused'; readonly reason: string }
  /** The message is not known to be stored; `mayBeStored`: it was sent and not answered. */
  | { readonly kind: 'lost'; readonly reason: string; readonly mayBeStored: boolean };

/** JetStream error codes: the expected last sequence is another one. */
const WRONG_LAST_SEQUENCE = new Set([10071, 10164]);
/** JetStream error code: the message exceeds the stream's size limit. */
const MESSAGE_TOO_LARGE = 10054;

interface Waiting {
  readonly settle: (ack: Ack) => void;
  readonly until: number;
}

/**
 * Sends messages to JetStream and waits for each acknowledgement: without that, a burst loses messages.
 *
 * Modes of a message: queued (at most MAX_QUEUED) → in flight (at most MAX_IN_FLIGHT) → stored | wrong-sequence |
 * refused. When an acknowledgement does not come (timeout, disconnect, server not ready), the same message is sent
 * again with the same ID, until the deadline; JetStream stores it once. While disconnected nothing is sent.
 *
 * Cost: all acknowledgements come on one subscription and time out by one timer. A timer and a promise race for each
 * message, as in the client's own request, cost twice the rest.
 */
export class Publisher {
  private readonly inbox: string;
  private readonly waiting = new Map<string, Waiting>();
  private readonly queue: (() => void)[] = [];
  private inFlight = 0;
  private token = 0;
  private sweep: NodeJS.Timeout | undefined;
  private readonly off: () => void;

  /**
   * @param gate each message waits for it before it is sent; it throws LogUnavailableError if the message must not be
   * sent
   */
  constructor(
    private readonly link: NatsLink,
    private readonly gate: () => Promise<void> | undefined = () => undefined,
  ) {
    this.inbox = createInbox(link.inboxPrefix);
    link.nc.subscribe(`${this.inbox}.*`, {
      callback: (error, msg) => {
        // The server may refuse the subscription. The client would take an error that is thrown here for its own end.
        if (error) this.settleAllLost(`acknowledgements are refused: ${error.message}`);
        else this.onAck(msg);
      },
    });
    this.off = link.onChange((up) => {
      if (!up) this.settleAllLost('the connection broke');
    });
  }

  /** Messages in flight and queued, now. */
  get load(): { readonly inFlight: number; readonly queued: number } {
    return { inFlight: this.inFlight, queued: this.queue.length };
  }

  /**
   * @throws LogUnavailableError after `deadlineMs`, LogOverloadedError at once when the queue is full
   */
  async send(
    subject: string,
    headers: string,
    body: Uint8Array,
    deadlineMs: number,
  ): Promise<Exclude<Ack, { kind: 'lost' }>> {
    const until = performance.now() + deadlineMs;
    if (this.inFlight >= MAX_IN_FLIGHT) await this.awaitTurn();
    else this.inFlight++;
    try {
      const ready = new ReadyHeaders(headers);
      let reason = this.link.closed ? 'the connection is closed' : 'not connected to NATS';
      let mayBeWritten = false;
      for (;;) {
        const leftMs = until - performance.now();
        if (leftMs <= 0 || !(this.link.up || (await this.link.waitUp(leftMs))))
          throw new LogUnavailableError(reason, { mayBeWritten });
        const isClosed = await this.awaitGate(until - performance.now());
        if (isClosed) {
          if (isClosed.cause instanceof LogDivergedError) throw isClosed;
          reason = isClosed.message;
          await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
          continue;
        }
        const ack = await this.publishOnce(subject, ready, body, Math.min(ACK_TIMEOUT_MS, until - performance.now()));
        if (ack.kind !== 'lost') return ack;
        reason = ack.reason;
        mayBeWritten ||= ack.mayBeStored;
        if (this.link.up) await new Promise((resolve) => setTimeout(resolve, RETRY_PAUSE_MS));
      }
    } finally {
      // The place passes directly to the next in the queue, so that no later publish can take it.
      const next = this.queue.shift();
      if (next) next();
      else this.inFlight--;
    }
  }

  close(): void {
    this.off();
    clearInterval(this.sweep);
    this.settleAllLost('the connection is closed');
  }

  /** @param leftMs timeout of the comparison, which continues for other publishes */
  private async awaitGate(leftMs: number): Promise<LogUnavailableError | undefined> {
    try {
      const opening = this.gate();
      if (opening) await withTimeout(opening, leftMs);
      return undefined;
    } catch (error) {
      if (error instanceof LogUnavailableError) return error;
      throw error;
    }
  }

  private awaitTurn(): Promise<void> {
    if (this.queue.length >= MAX_QUEUED) throw new LogOverloadedError(MAX_QUEUED);
    return new Promise((resolve) => this.queue.push(resolve));
  }

  private publishOnce(subject: string, headers: ReadyHeaders, body: Uint8Array, timeoutMs: number): Promise<Ack> {
    const token = (++this.token).toString(36);
    return new Promise((settle) => {
      this.waiting.set(token, { settle, until: performance.now() + timeoutMs });
      this.sweep ??= setInterval(() => this.settleTimedOut(), RETRY_PAUSE_MS).unref();
      try {
        this.link.nc.publish(subject, body, { headers, reply: `${this.inbox}.${token}` });
      } catch (e) {
        this.waiting.delete(token);
        settle({ kind: 'lost', reason: errorText(e), mayBeStored: false });
      }
    });
  }

  private onAck(msg: Msg): void {
    const token = msg.subject.slice(this.inbox.length + 1);
    const waiting = this.waiting.get(token);
    if (!waiting) return;
    this.waiting.delete(token);
    waiting.settle(ackOf(msg));
  }

  private settleTimedOut(): void {
    const now = performance.now();
    for (const [token, waiting] of this.waiting) {
      if (waiting.until > now) continue;
      this.waiting.delete(token);
      waiting.settle({ kind: 'lost', reason: 'no acknowledgement from NATS', mayBeStored: true });
    }
    if (this.waiting.size > 0) return;
    clearInterval(this.sweep);
    this.sweep = undefined;
  }

  private settleAllLost(reason: string): void {
    for (const waiting of this.waiting.values()) waiting.settle({ kind: 'lost', reason, mayBeStored: true });
    this.waiting.clear();
  }
}

/** @throws LogUnavailableError after the timeout */
async function withTimeout(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LogUnavailableError('it could not be compared in time')), ms);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

interface PubAckBody {
  readonly seq?: number;
  readonly duplicate?: boolean;
  readonly error?: { readonly code: number; readonly err_code?: number; readonly description: string };
}

function ackOf(msg: Msg): Ack {
  // No stream listens on the subject: JetStream is still starting, or has no leader.
  if (msg.data.length === 0)
    return { kind: 'lost', reason: 'no stream answers (JetStream is not ready)', mayBeStored: false };
  let body: PubAckBody;
  try {
    body = msg.json<PubAckBody>();
  } catch {
    return { kind: 'lost', reason: 'an acknowledgement that is no JSON', mayBeStored: true };
  }
  const { error } = body;
  if (!error) return { kind: 'stored', sequence: body.seq ?? 0, duplicate: body.duplicate ?? false };
  const code = error.err_code ?? 0;
  if (WRONG_LAST_SEQUENCE.has(code)) {
    const actual = /: (\d+)$/.exec(error.description)?.[1];
    return { kind: 'wrong-sequence', actual: actual === undefined ? undefined : Number(actual) };
  }
  // A server that is full, read-only or without quorum may recover within the deadline; a bad request stays bad.
  if (error.code === 400 || code === MESSAGE_TOO_LARGE) return { kind: 'refused', reason: error.description };
  return { kind: 'lost', reason: error.description, mayBeStored: true };
}
