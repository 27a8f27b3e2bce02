import { type CancelTimer, type Clock, MAX_TIMER_MS, type Timers } from '@waybill/model';
import { goneSignal } from '../http/reads.js';
import type { ApiReply, ApiRequest } from '../http/reply.js';
import { type Caller, EVERYBODY, expiryMsOf, rightsKeysOf } from './caller.js';
import { type CallerSource, RefusedCredential } from './callers.js';
import { credentialOf } from './routes.guard.js';

export interface CallerWatchOptions {
  readonly callers: CallerSource;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Checks the rights of a caller at the opening of a stream and after every change. @throws if a right is missing */
export type RightsCheck = (caller: Caller) => void | Promise<void>;

/** CallerWatches opens watches. It has no state. */
export class CallerWatches {
  constructor(private readonly options: CallerWatchOptions) {}

  /**
   * @param check by default, a valid credential is enough
   * @throws the errors of the credential, of the check and of the read model
   */
  open(credential: string | undefined, check: RightsCheck = () => {}): Promise<CallerWatch> {
    return CallerWatch.open(this.options, credential, check);
  }

  /**
   * Sends a response that follows something. The signal is aborted when the client disconnects, and when the client's
   * token is deleted or expires (AU-237).
   */
  async respond(request: ApiRequest, reply: ApiReply, send: (until: AbortSignal) => Promise<void>): Promise<void> {
    const gone = goneSignal(reply);
    const watch = await this.open(credentialOf(request));
    try {
      await send(AbortSignal.any([gone, watch.ended]));
    } finally {
      watch.close();
    }
  }
}

/**
 * CallerWatch follows the caller of one open stream, so that the stream ends with the caller's rights. Modes: open →
 * ended → closed. It checks again when a row changes on which the caller's rights depend. It ends when the check or
 * the credential is refused, at the instant of expiry, and when a check fails: the client connects again and gets an
 * answer then. With access control off it never checks again.
 * Cost: one check per change of the caller's own rows; changes between two checks cause one check.
 */
export class CallerWatch {
  private readonly ending = new AbortController();
  private current: Caller = EVERYBODY;
  private checking: Promise<void> = Promise.resolve();
  /** Is true while a check waits that has not begun. */
  private isDue = false;
  private isClosed = false;
  /** The keys of the rows for whose changes it listens, as text. */
  private listenedRows = '';
  private cancelExpiry: CancelTimer = () => {};
  private unlisten: () => void = () => {};

  private constructor(
    private readonly options: CallerWatchOptions,
    private readonly credential: string | undefined,
    private readonly mayGoOn: RightsCheck,
  ) {}

  /** @throws the errors of the credential, of the check and of the read model */
  static async open(
    options: CallerWatchOptions,
    credential: string | undefined,
    check: RightsCheck,
  ): Promise<CallerWatch> {
    const watch = new CallerWatch(options, credential, check);
    try {
      await watch.check();
      return watch;
    } catch (error) {
      watch.close();
      throw error;
    }
  }

  /** The caller as of the last check. */
  get caller(): Caller {
    return this.current;
  }

  /** The signal is aborted when the stream must end. Its reason is the error of the check. */
  get ended(): AbortSignal {
    return this.ending.signal;
  }

  /** Resolves when all reported changes are checked. The result is false if the stream must end. */
  async settled(): Promise<boolean> {
    for (let seen; seen !== this.checking;) await (seen = this.checking);
    // The timer may be late, and nothing may be sent after the expiry (AU-231).
    if (this.leftMs() <= 0) this.end(new RefusedCredential('expired'));
    return !this.ended.aborted;
  }

  /** Ends the watching. Every owner must call it. */
  close(): void {
    this.isClosed = true;
    this.unlisten();
    this.cancelExpiry();
  }

  private readonly checkAgain = (): void => {
    if (this.isDue) return;
    this.isDue = true;
    this.checking = this.checking
      .then(() => {
        this.isDue = false;
        return this.check();
      })
      .catch((error: unknown) => this.end(error));
  };

  private async check(): Promise<void> {
    const caller = await this.listenedCaller();
    await this.mayGoOn(caller);
    this.current = caller;
    this.awaitExpiry();
  }

  /**
   * Returns the caller by a read that began when the listening for changes of exactly this caller's rows had begun, so
   * no change is missed.
   */
  private async listenedCaller(): Promise<Caller> {
    const { callers } = this.options;
    for (;;) {
      const caller = await callers.of(this.credential);
      const rows = JSON.stringify(rightsKeysOf(caller));
      if (this.isClosed || rows === this.listenedRows) return caller;
      this.unlisten();
      this.unlisten = callers.onChangeOf(caller, this.checkAgain);
      this.listenedRows = rows;
    }
  }

  /** Ends the stream at the instant of the expiry, not at the next event (EV-46). */
  private awaitExpiry(): void {
    this.cancelExpiry();
    const leftMs = this.leftMs();
    if (this.isClosed || leftMs === Infinity) return;
    if (leftMs <= 0) return this.end(new RefusedCredential('expired'));
    this.cancelExpiry = this.options.timers.after(Math.min(leftMs, MAX_TIMER_MS), () => this.awaitExpiry());
  }

  /** Returns the milliseconds until the credential expires; Infinity if it never does. */
  private leftMs(): number {
    const expiresAtMs = expiryMsOf(this.caller);
    return expiresAtMs === undefined ? Infinity : expiresAtMs - this.options.clock.nowMs();
  }

  private end(why: unknown): void {
    this.ending.abort(why);
    this.close();
  }
}
