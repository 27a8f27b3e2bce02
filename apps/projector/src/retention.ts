import type { Term } from '@waybill/roles';
import { type Clock, type Timers, pause } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';

/**
 * The shortest time in milliseconds between two checks for data to remove; MAX_INTERVAL_MS is the longest. Between them
 * the interval is a tenth of the shortest retention time.
 */
export const MIN_INTERVAL_MS = 1_000;
export const MAX_INTERVAL_MS = 60_000;

/** RetentionPolicy says what is kept and for how long. */
export interface RetentionPolicy {
  /** The time for which transactions are kept; 0 keeps them for ever. */
  readonly logMs: number;
  /**
   * The number of transactions before Postgres' index that are kept in any case, for copies of the state that lag
   * behind.
   */
  readonly logIndexes: number;
  /** The time for which Postgres keeps the effects of transactions. */
  readonly historyMs: number;
  readonly eventsMs: number;
  readonly eventFrames: number;
}

/** TrimmedStreams is the streams as far as retention trims them. */
export interface TrimmedStreams {
  /** Removes transactions below this index and returns the first that is left. */
  trimLog(below: number): Promise<number>;
  /** Removes the archives of restores that the log no longer contains. */
  trimArchives(): Promise<void>;
  limitEvents(limits: { readonly maxAgeMs: number; readonly maxFrames: number }): Promise<void>;
  /** Returns the index of the first transaction in the log. */
  firstIndex(): Promise<number>;
  /** Removes the events of transactions below this index. */
  removeEventsBelow(index: number): Promise<void>;
}

/** TrimmedHistory is Postgres as far as retention trims it, and as far as it says what the log may lose. */
export interface TrimmedHistory {
  /** Removes records older than this and returns the lowest index that is left. */
  trim(beforeNs: number, signal: AbortSignal): Promise<number>;
  /**
   * Returns the last index that is older than `beforeNs` and at least `keep` indexes before the snapshot; 0 if there is
   * none.
   */
  expendableIndex(beforeNs: number, keep: number): Promise<number>;
  /** Returns the index before which a user has had the log and the events erased; 0: nobody has. [ST-186] */
  erasedBefore(): Promise<number>;
}

/** ReplacedArchives is the stored archives as far as an erasure needs them. */
export interface ReplacedArchives {
  /** The highest index of a verified archive. */
  readonly verifiedIndex: number;
  /** Removes archives of a lower index, after one of this index or a higher one is stored. */
  replaceBelow(index: number): Promise<void>;
}

export interface RetentionOptions {
  readonly policy: RetentionPolicy;
  /** The log keeps everything above the highest verified archive. Absent if no archives are configured. [OP-49] */
  readonly archives?: ReplacedArchives;
  readonly streams: TrimmedStreams;
  readonly history: TrimmedHistory;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Retention keeps the log, the events and the history from growing for ever. It runs beside the projector in the same
 * term.
 *
 * idle → trimming, at intervals or when `checkNow` is called → idle. The log loses only what Postgres holds, less `logIndexes`: a process that
 * starts loads Postgres and finds the log from there on. If archives are configured, the log loses only what an archive
 * contains. When a user erases the history, it goes at once, and archives of it too. Each step may be interrupted anywhere; the next check continues it, in this term or in another one. A late
 * deposed holder removes only what may be removed anyway.
 * Cost: three statements and five requests to NATS per check, besides the removals.
 */
export class Retention {
  private stopper: AbortController | undefined;
  /** Ends the pause between two checks. */
  private waker = new AbortController();
  private running: Promise<void> = Promise.resolve();
  private readonly counters = { logFirst: 1, historyFloor: 1 };

  constructor(private readonly options: RetentionOptions) {}

  start(term: Term): void {
    const stopper = new AbortController();
    this.stopper = stopper;
    this.running = this.trimUntilStopped(term, stopper.signal);
  }

  async stop(): Promise<void> {
    this.stopper?.abort();
    await this.running;
  }

  /** Checks now instead of at the next interval. */
  checkNow(): void {
    this.waker.abort();
  }

  stats(): Record<string, number> {
    return { ...this.counters };
  }

  private async trimUntilStopped(term: Term, signal: AbortSignal): Promise<void> {
    const { timers, logger } = this.options;
    while (!signal.aborted && term.isCurrent()) {
      this.waker = new AbortController();
      const { signal: woken } = this.waker;
      try {
        await this.trimExpired(signal);
        // It comes last, because a failure of it must not stop the trimming.
        await this.eraseHistory(signal);
      } catch (error) {
        if (!signal.aborted) logger.warn('what is too old could not be removed; trying again', { error });
      }
      await pause(timers, this.intervalMs, AbortSignal.any([signal, woken]));
    }
  }

  /** Erases the history before an index, if a user decided so. The log is last, and its first index proves the rest. */
  private async eraseHistory(signal: AbortSignal): Promise<void> {
    const { archives, streams, history, logger } = this.options;
    const index = await history.erasedBefore();
    if (index === 0 || (await streams.firstIndex()) >= index) return;
    await archives?.replaceBelow(index);
    await streams.removeEventsBelow(index);
    if (signal.aborted) return;
    this.counters.logFirst = await streams.trimLog(index);
    await streams.trimArchives();
    logger.warn('the log, its events and its archives were erased before an index, by the decision of a user', {
      index,
    });
  }

  private async trimExpired(signal: AbortSignal): Promise<void> {
    const { policy, archives, streams, history, clock } = this.options;
    const before = (ageMs: number): number => (clock.nowMs() - ageMs) * 1e6;
    await streams.limitEvents({ maxAgeMs: policy.eventsMs, maxFrames: policy.eventFrames });
    if (policy.logMs > 0) {
      const projected = await history.expendableIndex(before(policy.logMs), policy.logIndexes);
      const expendable = Math.min(projected, archives?.verifiedIndex ?? projected);
      if (expendable > 0 && !signal.aborted) this.counters.logFirst = await streams.trimLog(expendable + 1);
      await streams.trimArchives();
    }
    // The history comes last, because it says what the log may lose. It is kept at least as long as the events
    // (CL-1063).
    const historyMs = Math.max(policy.historyMs, policy.eventsMs, policy.logMs);
    this.counters.historyFloor = await history.trim(before(historyMs), signal);
  }

  private get intervalMs(): number {
    const { logMs, historyMs, eventsMs } = this.options.policy;
    const shortest = Math.min(logMs || Number.POSITIVE_INFINITY, historyMs, eventsMs);
    return Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, shortest / 10));
  }
}
