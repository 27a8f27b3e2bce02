import { type CancelTimer, errorText } from '@waybill/model';
import type { LogMark } from '@waybill/state';
import type { NatsLink } from './connection.js';
import { LogDivergedError, LogTrimmedError, LogUnavailableError } from './errors.js';
import { type LogView, type PassingTime, REAL_TIME, SameLog } from './same-log.js';

/**
 * Interval at which the log is compared with its known history, milliseconds; it is also compared whenever the
 * connection returns.
 */
export const COMPARE_INTERVAL_MS = 1_000;
/**
 * Timeout of the question to the database, milliseconds; after it, the history known in memory has to do. Longer than a
 * busy database takes: a write that does not wait for it may get the index of another transaction that the database has.
 */
export const RECORD_TIMEOUT_MS = 5_000;

/** Reads from the database the transaction that it applied last. */
export type LogRecord = () => Promise<LogMark | undefined>;

/**
 * Whether the log is still the one that this process knows (ST-1). Every write passes its gate.
 *
 * Modes: unconfirmed → confirmed → unconfirmed …, and from both → diverged → (`accept`) unconfirmed.
 * Unconfirmed: the connection is new, and the log is compared with its known history before anything is written.
 * Confirmed: compared on this connection, and again every COMPARE_INTERVAL_MS, because a log with several copies can
 * lose its end without a lost connection.
 * Diverged: nothing is written until an operator has decided which history counts.
 *
 * Known is the newest mark that a follower has read, an announcement has named, or the database has. Cost: two requests
 * per second and process, and nothing for each write.
 */
export class LogHistory {
  private readonly log: SameLog;
  private known: LogMark | undefined;
  private recordOf: LogRecord | undefined;
  private isConfirmed = false;
  /** Whether the database has answered since the connection or the history changed. */
  private hasRecord = false;
  /** Counts connections and accepted histories: a comparison that began in an earlier era has no effect. */
  private era = 0;
  private confirming: Promise<void> | undefined;
  private diverged: LogDivergedError | undefined;
  private readonly listeners = new Set<(error: LogDivergedError) => void>();
  private cancelTimer: CancelTimer = () => {};
  private readonly offLink: () => void;
  private closed = false;

  constructor(
    private readonly link: Pick<NatsLink, 'up' | 'onChange'>,
    view: LogView,
    private readonly time: PassingTime = REAL_TIME,
  ) {
    this.log = new SameLog(view, time);
    this.offLink = link.onChange((up) => {
      this.beginEra();
      if (up && (this.known || this.recordOf)) this.compareNow();
    });
    this.compareLater();
  }

  /** Why nothing may be written; undefined: the log has its known history. */
  get divergence(): LogDivergedError | undefined {
    return this.diverged;
  }

  /** The newest transaction that is known to be in the log. */
  get mark(): LogMark | undefined {
    return this.known;
  }

  /** Records that the log has this transaction. */
  recordMark(mark: LogMark): void {
    if (this.diverged || mark.index <= (this.known?.index ?? 0)) return;
    this.known = mark;
  }

  /** Has the database asked as well, from now on. */
  compareWith(record: LogRecord): void {
    this.recordOf = record;
    this.isConfirmed = this.hasRecord = false;
  }

  /** Reports that a reader found the log to be another one. */
  reportDivergence(error: LogDivergedError): void {
    if (this.diverged) return;
    this.diverged = error;
    this.isConfirmed = false;
    for (const listener of this.listeners) listener(error);
  }

  /** Calls `listener` once for each divergence, and at once if there is one. @returns unsubscribe */
  onDivergence(listener: (error: LogDivergedError) => void): () => void {
    this.listeners.add(listener);
    if (this.diverged) listener(this.diverged);
    return () => this.listeners.delete(listener);
  }

  /** Forgets the known history, because an operator decided which history counts. */
  accept(mark?: LogMark): void {
    this.diverged = undefined;
    this.known = mark;
    this.beginEra();
  }

  /**
   * What a write must wait for; undefined: nothing. @throws LogUnavailableError if the log is another one, or cannot be
   * compared
   */
  gate(): Promise<void> | undefined {
    if (this.diverged) throw this.unavailableError(this.diverged);
    return this.isConfirmed ? undefined : this.compareOnce();
  }

  /** Compares the log now. @throws LogUnavailableError if it cannot be compared */
  async isSame(): Promise<boolean> {
    try {
      await this.gate();
      return true;
    } catch (error) {
      if (this.diverged) return false;
      throw error;
    }
  }

  close(): void {
    this.closed = true;
    this.offLink();
    this.cancelTimer();
  }

  private beginEra(): void {
    this.isConfirmed = this.hasRecord = false;
    this.era += 1;
  }

  private compareLater(): void {
    this.cancelTimer = this.time.timers.after(COMPARE_INTERVAL_MS, () => {
      this.compareNow();
      this.compareLater();
    });
  }

  private compareNow(): void {
    if (this.closed || this.diverged || !this.link.up) return;
    // A divergence is reported to the listeners; if the comparison failed, the next write compares.
    this.compareOnce().catch(() => {});
  }

  private compareOnce(): Promise<void> {
    return (this.confirming ??= this.compareWithRecord().finally(() => {
      this.confirming = undefined;
    }));
  }

  private async compareWithRecord(): Promise<void> {
    const { era } = this;
    const recorded = this.hasRecord ? undefined : await this.readRecord();
    const mark = newer(this.known, recorded?.mark);
    try {
      if (mark) await this.log.stateFor(mark.index + 1, () => this.closed, mark);
    } catch (error) {
      if (error instanceof LogDivergedError && era === this.era) {
        this.reportDivergence(error);
        throw this.unavailableError(error);
      }
      if (!(error instanceof LogTrimmedError))
        throw new LogUnavailableError(`it cannot be compared: ${errorText(error)}`, { cause: error });
    }
    if (era !== this.era) throw new LogUnavailableError('the connection or the history changed while it was compared');
    if (mark) this.recordMark(mark);
    this.hasRecord ||= recorded !== undefined;
    this.isConfirmed = this.link.up && !this.diverged;
  }

  /** Undefined: there is no database, or it did not answer; it is asked again with the next comparison. */
  private async readRecord(): Promise<{ readonly mark: LogMark | undefined } | undefined> {
    if (!this.recordOf) return undefined;
    let cancel: CancelTimer = () => {};
    const late = new Promise<undefined>((resolve) => {
      cancel = this.time.timers.after(RECORD_TIMEOUT_MS, () => resolve(undefined));
    });
    try {
      return await Promise.race([this.recordOf().then((mark) => ({ mark })), late]);
    } catch {
      return undefined; // the database is down, or has no tables yet
    } finally {
      cancel();
    }
  }

  private unavailableError(cause: LogDivergedError): LogUnavailableError {
    return new LogUnavailableError(cause.message, { cause });
  }
}

const newer = (a: LogMark | undefined, b: LogMark | undefined): LogMark | undefined =>
  (b?.index ?? 0) > (a?.index ?? 0) ? b : a;
