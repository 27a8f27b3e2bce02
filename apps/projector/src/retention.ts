import type { Term } from '@waybill/roles';
import { type Clock, type Timers, pause } from '@waybill/model';
import type { Logger } from '@waybill/telemetry';

/** Between two looks at what may go, milliseconds: a tenth of the shortest time anything is kept, within these. */
export const MIN_INTERVAL_MS = 1_000;
export const MAX_INTERVAL_MS = 60_000;

/** What is kept. */
export interface RetentionPolicy {
  /** Transactions; 0: for ever. */
  readonly logMs: number;
  /** Transactions behind what Postgres holds that are kept in any case, for copies of the state that are behind. */
  readonly logIndexes: number;
  /** What transactions did, in Postgres. */
  readonly historyMs: number;
  readonly eventsMs: number;
  readonly eventFrames: number;
}

/** The streams, as far as they are trimmed. */
export interface TrimmedStreams {
  /** Removes transactions below this index; answers the first that is left. */
  trimLog(below: number): Promise<number>;
  /** Removes the archives of restores that are not in the log any more. */
  trimArchives(): Promise<void>;
  limitEvents(limits: { readonly maxAgeMs: number; readonly maxFrames: number }): Promise<void>;
}

/** Postgres, as far as it is trimmed, and as it says what the log may lose. */
export interface TrimmedHistory {
  /** Removes records older than this; answers the lowest index left. */
  trim(beforeNs: number, signal: AbortSignal): Promise<number>;
  /** The last index older than `beforeNs` of those that the snapshot is `keep` indexes past; 0: none. */
  expendable(beforeNs: number, keep: number): Promise<number>;
}

export interface RetentionOptions {
  readonly policy: RetentionPolicy;
  /** Highest index of an archive that was verified: the log keeps what is in none (OP-49). Absent: there are none. */
  readonly archivedIndex?: () => number;
  readonly streams: TrimmedStreams;
  readonly history: TrimmedHistory;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * Keeps log, events and history from growing for ever. Runs beside the projector, in the same term.
 *
 * idle → trimming, at intervals → idle. The log loses only what Postgres holds, less `logIndexes`: whoever starts loads
 * Postgres and finds the log from there on. Where archives are put away it loses only what is in one of them. Each step can be cut off anywhere and is taken up again by the next look, in
 * this term or another's; a deposed holder that is late removes only what may go anyway.
 * Cost: three statements and five requests to NATS per look, beside what is removed.
 */
export class Retention {
  private stopper: AbortController | undefined;
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

  stats(): Record<string, number> {
    return { ...this.counters };
  }

  private async trimUntilStopped(term: Term, signal: AbortSignal): Promise<void> {
    const { timers, logger } = this.options;
    while (!signal.aborted && term.isCurrent()) {
      try {
        await this.trimExpired(signal);
      } catch (error) {
        if (!signal.aborted) logger.warn('what is too old could not be removed; trying again', { error });
      }
      await pause(timers, this.intervalMs, signal);
    }
  }

  private async trimExpired(signal: AbortSignal): Promise<void> {
    const { policy, archivedIndex, streams, history, clock } = this.options;
    const before = (ageMs: number): number => (clock.nowMs() - ageMs) * 1e6;
    await streams.limitEvents({ maxAgeMs: policy.eventsMs, maxFrames: policy.eventFrames });
    if (policy.logMs > 0) {
      const projected = await history.expendable(before(policy.logMs), policy.logIndexes);
      const expendable = Math.min(projected, archivedIndex?.() ?? projected);
      if (expendable > 0 && !signal.aborted) this.counters.logFirst = await streams.trimLog(expendable + 1);
      await streams.trimArchives();
    }
    // Last: what may go from the log is read from the history. And as long as events at least (CL-1063).
    const historyMs = Math.max(policy.historyMs, policy.eventsMs, policy.logMs);
    this.counters.historyFloor = await history.trim(before(historyMs), signal);
  }

  private get intervalMs(): number {
    const { logMs, historyMs, eventsMs } = this.options.policy;
    const shortest = Math.min(logMs || Number.POSITIVE_INFINITY, historyMs, eventsMs);
    return Math.min(MAX_INTERVAL_MS, Math.max(MIN_INTERVAL_MS, shortest / 10));
  }
}
