import { AckPolicy, DeliverPolicy, ReplayPolicy, type JetStreamManager } from '@nats-io/jetstream';
import { createInbox, nanos } from '@nats-io/transport-node';
import type { Msg, Subscription } from '@nats-io/transport-node';
import { type LogMark, markOf, type Txn } from '@waybill/state';
import type { NatsLink } from './connection.js';
import { isFatalLogError, LogDivergedError, LogGapError, LogUnavailableError } from './errors.js';
import type { Delivery, FollowOptions, Follower } from './log.js';
import { deliveryOf, MessageText } from './raw-message.js';
import type { LogHistory } from './log-history.js';
import { logView, SameLog } from './same-log.js';
import { TXN_STREAM } from './subject.js';
import { readMark, readTxn } from './txn-codec.js';

/** Most transactions in one call of `onTxns`: enough to spread the cost of a database transaction. */
export const MAX_BATCH = 1000;
/** Interval at which an idle server sends heartbeats, milliseconds. */
export const IDLE_HEARTBEAT_MS = 500;
/** Without any message from the server for this long, the consumer is created anew, milliseconds. */
export const SILENCE_MS = 1_500;
/** Pause between two attempts to create a consumer, milliseconds. */
export const RECOVERY_PAUSE_MS = 100;
/** Time after which the server deletes a consumer without a reader, milliseconds. */
export const CONSUMER_IDLE_MS = 30_000;
/**
 * Characters of a consumer's name, which every message carries: enough to distinguish the readers of one log. A name in
 * use is refused.
 */
const CONSUMER_ID_CHARS = 8;
const FLOW_CONTROL = 100;

/** A received message that is not delivered yet; index 0: a flow control request, in its place among the messages. */
interface Waiting {
  readonly index: number;
  readonly msg: Msg;
}

/** One consumer on the server, and the state of its messages. */
interface Session {
  readonly subscription: Subscription;
  readonly consumer: string;
  /** Last delivery number; a gap means that messages of the server were lost. */
  delivered: number;
  lastHeardMs: number;
}

/**
 * Reads the log in order, from an index on, without end.
 *
 * Modes: starting → reading ⇄ recovering → stopped. When the connection returns, the server is silent, or a delivery is
 * missing, the consumer is replaced by a new one that starts after the last received message. So a restart of NATS
 * neither loses nor repeats a message, and costs about one round trip after the server is back. The index of every
 * message must be the next one (ST-7). The next heartbeat shows a lost last message.
 *
 * Back-pressure: the server's flow control. The server sends no more than a window (it grows to 32 MB) beyond the last
 * message that `onTxns` has processed, which also limits the messages that wait here. Cost: one decode for each
 * message, in the pump, as soon as all messages of a network read have arrived: while they are in the processor's
 * cache.
 */
export class LogFollower implements Follower {
  readonly caughtUp: Promise<number>;
  private resolveCaughtUp!: (index: number) => void;
  private rejectCaughtUp!: (error: Error) => void;

  private manager: JetStreamManager | undefined;
  private session: Session | undefined;
  private readonly log: SameLog;
  /** Counts attempts to open a session: a later attempt supersedes the earlier ones. */
  private generation = 0;
  private recovering: Promise<void> | undefined;
  private waiting: Waiting[] = [];
  /** Index of the last message put into `waiting`, and that message, if there is one. */
  private received: number;
  private lastReceived: Msg | undefined;
  private finished: number;
  /** Last index of the log when following began. */
  private target = -1;
  private pumping: Promise<void> | undefined;
  private pumpScheduled = false;
  private stopped = false;
  private watchdog: NodeJS.Timeout | undefined;
  private readonly offLink: () => void;

  constructor(
    private readonly link: NatsLink,
    private readonly getManager: () => Promise<JetStreamManager>,
    private readonly options: FollowOptions,
    private readonly history?: Pick<LogHistory, 'recordMark' | 'reportDivergence'>,
  ) {
    this.received = this.finished = options.from - 1;
    this.log = new SameLog(logView(getManager));
    this.caughtUp = new Promise((resolve, reject) => {
      this.resolveCaughtUp = resolve;
      this.rejectCaughtUp = reject;
    });
    this.caughtUp.catch(() => {}); // no caller has to wait for it
    this.offLink = link.onChange((up) => {
      if (up) this.recoverSession();
    });
  }

  get index(): number {
    return this.finished;
  }

  /** Resolves when reading has begun, or when the log is unreachable (reading then begins by itself). */
  async start(): Promise<void> {
    try {
      await this.openSession();
    } catch (e) {
      if (isFatalLogError(e)) {
        if (e instanceof LogDivergedError) this.history?.reportDivergence(e);
        await this.stop();
        throw e;
      }
      this.recoverSession();
    }
    this.watchdog = setInterval(() => this.checkSilence(), IDLE_HEARTBEAT_MS);
    this.watchdog.unref();
  }

  async stop(): Promise<void> {
    this.stopWith(new LogUnavailableError('the follower was stopped'));
    await this.pumping;
  }

  private stopWith(reason: Error): void {
    if (this.stopped) return;
    this.stopped = true;
    this.offLink();
    clearInterval(this.watchdog);
    this.closeSession();
    this.waiting = [];
    this.rejectCaughtUp(reason);
  }

  private fail(error: unknown): void {
    if (this.stopped) return;
    const reason = error instanceof Error ? error : new Error(String(error));
    if (reason instanceof LogDivergedError) this.history?.reportDivergence(reason);
    this.stopWith(reason);
    this.options.onError(reason);
  }

  // ---- sessions

  private recoverSession(): void {
    if (this.stopped || this.recovering) return;
    this.closeSession();
    this.recovering = this.reopenSession()
      .catch((e: unknown) => this.fail(e))
      .finally(() => {
        this.recovering = undefined;
      });
  }

  private async reopenSession(): Promise<void> {
    while (!this.stopped) {
      try {
        if (await this.link.waitUp(SILENCE_MS)) return await this.openSession();
        if (this.link.closed) throw new LogUnavailableError('the connection is closed');
      } catch (e) {
        if (isFatalLogError(e) || this.link.closed) throw e;
        await new Promise((resolve) => setTimeout(resolve, RECOVERY_PAUSE_MS));
      }
    }
  }

  /** @throws LogTrimmedError, LogRewoundError, or the server's refusal */
  private async openSession(): Promise<void> {
    const generation = ++this.generation;
    const manager = await this.getManager();
    this.manager = manager;
    const next = this.received + 1;
    const isOvertaken = (): boolean => this.stopped || generation !== this.generation;
    const state = await this.log.stateFor(next, isOvertaken, this.lastMark());
    // A log that lost its end before it was read to there ends earlier: its old end may never come.
    if (this.target < 0 || state.last_seq < this.target) {
      this.target = state.last_seq;
      this.resolveIfCaughtUp();
    }

    if (isOvertaken()) return;
    this.closeSession();
    const inbox = createInbox(this.link.inboxPrefix);
    const consumer = `follow_${inbox.slice(-CONSUMER_ID_CHARS)}`;
    const subscription = this.link.nc.subscribe(inbox, {
      callback: (error, msg) => {
        if (error || this.stopped || this.session?.subscription !== subscription) return;
        this.receiveMessage(this.session, msg);
      },
    });
    const session: Session = { subscription, consumer, delivered: 0, lastHeardMs: performance.now() };
    this.session = session; // set before the consumer exists, because its first message may come before the answer
    try {
      await manager.consumers.add(TXN_STREAM, {
        name: consumer,
        deliver_subject: inbox,
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: next,
        ack_policy: AckPolicy.None,
        replay_policy: ReplayPolicy.Instant,
        max_deliver: 1,
        flow_control: true,
        idle_heartbeat: nanos(IDLE_HEARTBEAT_MS),
        inactive_threshold: nanos(CONSUMER_IDLE_MS),
        mem_storage: true,
        num_replicas: 1,
      });
      session.lastHeardMs = performance.now();
    } catch (e) {
      if (this.session === session) this.closeSession();
      throw e;
    }
    if (isOvertaken()) this.discardSession(session);
  }

  /** Computed on request, so that messages cost nothing for it. */
  private lastMark(): LogMark | undefined {
    const { lastReceived: msg } = this;
    return msg ? readMark(this.received, (name) => msg.headers?.get(name) ?? '') : this.options.after;
  }

  private closeSession(): void {
    const { session } = this;
    this.session = undefined;
    if (session) this.discardSession(session);
  }

  private discardSession(session: Session): void {
    session.subscription.unsubscribe();
    if (this.link.up) void this.manager?.consumers.delete(TXN_STREAM, session.consumer).catch(() => {});
  }

  private checkSilence(): void {
    if (!this.isSilent()) return;
    // After a long synchronous step, messages that arrived meanwhile are only read now: check again after that.
    setImmediate(() => {
      if (this.isSilent()) this.recoverSession();
    });
  }

  private isSilent(): boolean {
    return this.session !== undefined && this.link.up && performance.now() - this.session.lastHeardMs > SILENCE_MS;
  }

  // ---- messages

  private receiveMessage(session: Session, msg: Msg): void {
    session.lastHeardMs = performance.now();
    const delivery = deliveryOf(msg);
    if (!delivery) {
      this.receiveStatus(session, msg);
      return;
    }
    if (delivery.number !== session.delivered + 1) {
      this.recoverSession();
      return;
    }
    session.delivered = delivery.number;
    if (delivery.sequence <= this.received) return;
    if (delivery.sequence !== this.received + 1) {
      // Every delivery arrived, so the index is missing in the log itself.
      this.failAfterDelivery(new LogGapError(this.received + 1, delivery.sequence));
      return;
    }
    this.received = delivery.sequence;
    this.lastReceived = msg;
    this.waiting.push({ index: delivery.sequence, msg });
    this.scheduleDelivery();
  }

  private receiveStatus(session: Session, msg: Msg): void {
    const headers = msg.headers;
    if (headers?.code !== FLOW_CONTROL) {
      this.recoverSession(); // the consumer was deleted, or the server is shutting down
      return;
    }
    if (Number(headers.get('Nats-Last-Consumer')) > session.delivered) {
      this.recoverSession(); // the last message was lost, and no later one shows the gap
      return;
    }
    if (msg.reply) {
      this.waiting.push({ index: 0, msg }); // a flow control request: answered when everything before it is processed
      this.scheduleDelivery();
      return;
    }
    const stalled = headers.get('Nats-Consumer-Stalled');
    if (stalled !== '' && this.waiting.length === 0 && !this.pumping) this.link.nc.publish(stalled);
  }

  private failAfterDelivery(error: Error): void {
    this.closeSession();
    void (this.pumping ?? Promise.resolve()).then(() => this.fail(error));
  }

  // ---- delivery

  private scheduleDelivery(): void {
    if (this.pumping || this.pumpScheduled) return;
    this.pumpScheduled = true;
    queueMicrotask(() => {
      this.pumpScheduled = false;
      if (this.pumping || this.stopped) return;
      this.pumping = this.deliverWaiting()
        .catch((e: unknown) => this.fail(e))
        .finally(() => {
          this.pumping = undefined;
          if (this.waiting.length > 0 && !this.stopped) this.scheduleDelivery();
        });
    });
  }

  private async deliverWaiting(): Promise<void> {
    const messages = this.waiting;
    this.waiting = [];
    let at = 0;
    while (at < messages.length && !this.stopped) {
      const batch: Txn[] = [];
      let flow: Msg | undefined;
      let undecodable: unknown;
      while (at < messages.length && batch.length < MAX_BATCH && !flow && !undecodable) {
        const next = messages[at++];
        if (!next) break;
        const { index, msg } = next;
        if (index === 0) {
          flow = msg;
          break;
        }
        try {
          batch.push(readTxn(index, new MessageText(msg), this.options.types));
        } catch (e) {
          undecodable = e;
        }
        if (index === this.target) break; // no batch contains both replayed and live transactions
      }
      if (batch.length > 0) await this.deliverBatch(batch);
      // The transactions before the undecodable one are delivered; nothing after it (ST-8).
      if (undecodable) throw undecodable;
      flow?.respond();
    }
  }

  private async deliverBatch(batch: readonly Txn[]): Promise<void> {
    const last = batch.at(-1);
    if (!last) return;
    const delivery: Delivery = { live: last.index > this.target };
    const working = this.options.onTxns(batch, delivery);
    if (working) await working;
    this.finished = last.index;
    this.history?.recordMark(markOf(last));
    this.resolveIfCaughtUp();
  }

  private resolveIfCaughtUp(): void {
    if (this.target >= 0 && this.finished >= this.target) this.resolveCaughtUp(this.target);
  }
}
