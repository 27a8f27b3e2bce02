import {
  type FollowOptions,
  type Follower,
  isFatalLogError,
  LogDivergedError,
  type LogHistory,
  LogUnavailableError,
  type LogView,
  SameLog,
} from '@waybill/journal';
import { pause } from '@waybill/model';
import { type LogMark, markOf } from '@waybill/state';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import type { TxnStream } from './txn-stream.js';
import type { Wire } from './wire.js';

/** Most transactions of one delivery: small, so that a replica stands still in the middle of a burst. */
const MAX_BATCH = 20;
/** A follower that is cut off looks again after this, milliseconds. */
const RECOVERY_MS = 100;

/** What is followed, as the process sees it. */
export interface FollowedStream {
  readonly stream: TxnStream;
  readonly wire: Wire;
  readonly view: LogView;
  readonly history: Pick<LogHistory, 'recordMark' | 'reportDivergence'>;
}

/**
 * Delivers the stream to one process: in order, each once, some time after it was stored, in batches. It stands still
 * while the process is cut off, paused or stalled, and then goes on from the same place. On each new connection it first
 * compares the stream with the transaction that it read last, by the code of production.
 *
 * starting → reading ⇄ recovering → stopped.
 */
export class StreamFollower implements Follower {
  readonly caughtUp: Promise<number>;
  /** Last index of the stream when following began. */
  private target = -1;
  private finished: number;
  /** Index of the last transaction that was handed over, and that transaction. */
  private received: number;
  private last: LogMark | undefined;
  private readonly sameLog: SameLog;
  private mode: 'reading' | 'recovering' | 'stopped' = 'recovering';
  /** Counts connections that came and went: what was compared on an earlier one says nothing. */
  private changes = 0;
  private scheduled = false;
  private resolveCaughtUp: (index: number) => void = () => {};
  private rejectCaughtUp: (error: Error) => void = () => {};
  private readonly offStream: () => void;
  private readonly offConnection: () => void;

  constructor(
    private readonly process: SimulatedProcess,
    private readonly followed: FollowedStream,
    private readonly options: FollowOptions,
  ) {
    this.finished = this.received = options.from - 1;
    this.last = options.after;
    this.sameLog = new SameLog(followed.view, { timers: process, monotonic: process.monotonic });
    this.caughtUp = new Promise((resolve, reject) => {
      this.resolveCaughtUp = resolve;
      this.rejectCaughtUp = reject;
    });
    this.caughtUp.catch(() => {}); // nobody has to wait for it
    this.offStream = followed.stream.onStored(() => this.plan());
    this.offConnection = followed.wire.connectionOf(process).onChange(() => {
      this.changes++;
      if (this.mode !== 'reading') return;
      this.mode = 'recovering';
      void this.recover();
    });
  }

  get index(): number {
    return this.finished;
  }

  /** Resolves when reading has begun, or NATS cannot be asked: it then begins by itself. @throws LogDivergedError */
  async start(): Promise<void> {
    try {
      await this.open();
    } catch (error) {
      if (!isFatalLogError(error)) return void this.recover();
      if (error instanceof LogDivergedError) this.followed.history.reportDivergence(error);
      this.halt(error as Error);
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.halt(new LogUnavailableError('the follower was stopped'));
  }

  private halt(reason: Error): void {
    this.mode = 'stopped';
    this.offStream();
    this.offConnection();
    this.rejectCaughtUp(reason);
  }

  private fail(error: unknown): void {
    if (this.mode === 'stopped') return;
    const reason = error instanceof Error ? error : new Error(String(error));
    if (reason instanceof LogDivergedError) this.followed.history.reportDivergence(reason);
    this.halt(reason);
    this.options.onError(reason);
  }

  /** Until the stream was compared on a connection that is still there. */
  private async recover(): Promise<void> {
    const isRecovering = (): boolean => this.mode === 'recovering' && this.process.isAlive;
    for (; isRecovering(); await pause(this.process, RECOVERY_MS))
      try {
        if (!this.followed.wire.connects(this.process)) continue;
        await this.open();
        return;
      } catch (error) {
        if (isFatalLogError(error)) return this.fail(error);
      }
  }

  /** @throws LogDivergedError, or NATS' refusal */
  private async open(): Promise<void> {
    const { changes } = this;
    const state = await this.sameLog.stateFor(this.received + 1, () => this.mode === 'stopped', this.last);
    if (this.mode === 'stopped') return;
    if (changes !== this.changes) throw new LogUnavailableError('the connection changed while the log was compared');
    if (this.target < 0) this.target = state.last_seq;
    this.mode = 'reading';
    this.noteCaughtUp();
    this.plan();
  }

  private plan(): void {
    const { process, followed } = this;
    if (!process.isAlive) this.offStream();
    if (this.scheduled || this.mode !== 'reading' || !process.isAlive || this.finished >= followed.stream.last) return;
    this.scheduled = true;
    this.deliverAfter(followed.wire.delayMs() + process.stalledForMs);
  }

  private deliverAfter(delayMs: number): void {
    const { process, followed } = this;
    process.reachedAfter(delayMs, `log → ${process.name}`, () => {
      if (this.mode !== 'reading') this.scheduled = false;
      else if (!followed.wire.connects(process)) this.deliverAfter(RECOVERY_MS);
      else if (process.stalledForMs > 0) this.deliverAfter(process.stalledForMs);
      else void this.deliver();
    });
  }

  private async deliver(): Promise<void> {
    const { stream, history } = this.followed;
    const isLive = this.finished >= this.target;
    const until = Math.min(this.finished + MAX_BATCH, isLive ? stream.last : this.target);
    const batch = stream.stored.slice(this.finished, until).map(({ txn }) => txn);
    const newest = batch.at(-1);
    this.received = until;
    if (newest) this.last = markOf(newest);
    try {
      await this.options.onTxns(batch, { live: isLive });
    } catch (error) {
      this.fail(error);
      return;
    }
    this.finished = until;
    if (newest) history.recordMark(markOf(newest));
    this.noteCaughtUp();
    this.scheduled = false;
    this.plan();
  }

  private noteCaughtUp(): void {
    if (this.target >= 0 && this.finished >= this.target) this.resolveCaughtUp(this.target);
  }
}
