import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { TableName, Verdict } from '@waybill/state';
import type { Announcement } from './announcement.js';
import { OtherTransactionError, ProjectionBehindError } from '../errors.js';
import type { RecordedVerdict } from '../reading/recorded-verdict.js';
import { type WatchKey, wholeTables } from '../reading/watch-keys.js';
import { type Watch, Watches } from '../reading/watches.js';

/** Number of cached verdicts, for writers whose acknowledgement arrives after the announcement. */
export const RECENT_VERDICTS = 8_192;
/** Most waiting writers. Further ones are refused. */
export const MAX_VERDICT_WAITERS = 20_000;
/** Milliseconds without an announcement after which PostgreSQL is queried, while a caller waits. */
export const SILENCE_MS = 500;

/** The queries for missed announcements. `ReadModel` implements them. */
export interface ProjectionRecord {
  appliedIndex(): Promise<number>;
  txnVerdict(index: number): Promise<RecordedVerdict | undefined>;
}

export interface FeedOptions {
  readonly record: ProjectionRecord;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Called when the read model has advanced, with its index and the last sequence of EVENTS up to it. */
export type AdvanceListener = (applied: number, eventSequence: number) => void;

/**
 * Tells one process how far the read model is, and wakes its waiting callers: writers for their verdict, blocking
 * queries for a change, and event subscribers for an index.
 *
 * Modes: new → following → stopped. While following, announcements arrive through `receive`. They are plain messages
 * and may be lost. The feed queries PostgreSQL, wakes every watch and looks verdicts up there in three cases: an
 * announcement does not start where the last one ended, after a reconnect (`resync`), or after SILENCE_MS without an
 * announcement while a caller waits. So a lost announcement costs time, but no response. If PostgreSQL goes back to an
 * earlier index (ST-1), the feed goes back too and wakes every watch. Limits: RECENT_VERDICTS, MAX_VERDICT_WAITERS,
 * MAX_WATCHES. Cost of an announcement: its entries and the callers that it wakes.
 */
export class ProjectionFeed {
  private appliedTo = 0;
  private appliedAtMs: number;
  private heardAtMs: number;
  /** Number of announcements that have arrived. */
  private heard = 0;
  private eventSequence = 0;
  private stopped = false;
  private readonly verdicts = new Map<number, ProjectedTxn>();
  private readonly waiters = new Map<number, Set<VerdictWaiter>>();
  private waiting = 0;
  private readonly listeners = new Set<AdvanceListener>();
  private readonly watches: Watches;
  private silenceTimer: CancelTimer | undefined;

  constructor(private readonly options: FeedOptions) {
    this.watches = new Watches(options.timers);
    this.appliedAtMs = this.heardAtMs = options.clock.nowMs();
  }

  /** Index of the read model, as far as this process knows. */
  get applied(): number {
    return this.appliedTo;
  }

  /** Last announced sequence of EVENTS. */
  get events(): number {
    return this.eventSequence;
  }

  /** Milliseconds since the last announcement, for `X-Nomad-LastContact`, which is 0 while the projector is current. */
  get silentForMs(): number {
    return Math.max(0, this.options.clock.nowMs() - this.heardAtMs);
  }

  /** Time in unix milliseconds when PostgreSQL had `applied`. */
  get lastAppliedAtMs(): number {
    return this.appliedAtMs;
  }

  /** Number of open watches, for metrics. */
  get watchCount(): number {
    return this.watches.size;
  }

  /** Processes an announcement. */
  receive(announcement: Announcement): void {
    if (this.stopped) return;
    const { from, to, entries } = announcement;
    this.heard += 1;
    this.heardAtMs = this.options.clock.nowMs();
    this.eventSequence = Math.max(this.eventSequence, announcement.eventSequence);
    const isOtherHistory = this.announcedOthers(entries);
    if (to <= this.appliedTo && !isOtherHistory) {
      if (to === this.appliedTo) this.notifyListeners(); // EVENTS may have become known only now
      return;
    }
    const missed = isOtherHistory || from > this.appliedTo;
    if (isOtherHistory) this.verdicts.clear();
    this.appliedTo = to;
    this.appliedAtMs = announcement.appliedAtMs;
    for (const { index, requestId, verdict, keys } of entries) {
      if (verdict) this.storeVerdict(index, { requestId, verdict });
      if (!missed) this.watches.wake(keys);
    }
    if (missed) this.watches.wakeAll();
    this.resolveReached();
    this.notifyListeners();
  }

  /**
   * Queries PostgreSQL for its position, at the start and after a reconnect, when announcements may have been missed.
   * @throws errors of the database
   */
  async resync(): Promise<void> {
    const before = this.appliedTo;
    const applied = await this.options.record.appliedIndex();
    const hasGoneBack = applied < before && before === this.appliedTo;
    if (this.stopped || (applied <= this.appliedTo && !hasGoneBack)) return;
    if (hasGoneBack) this.verdicts.clear();
    this.appliedTo = applied;
    this.appliedAtMs = this.options.clock.nowMs();
    this.watches.wakeAll();
    this.resolveReached();
    this.notifyListeners();
  }

  /**
   * Returns the verdict of the transaction with this index once the read model has it (ST-10).
   * @param requestId of the transaction if the caller knows it, because a log that lost its end may assign an index
   * again
   * @throws ProjectionBehindError after `timeoutMs` or if too many callers wait; OtherTransactionError; errors of the
   * database
   */
  async waitFor(index: number, timeoutMs: number, requestId?: string): Promise<Verdict> {
    const isThere = index <= this.appliedTo || (await this.awaitIndex(index, timeoutMs));
    const projected = isThere
      ? (this.verdicts.get(index) ?? (await this.recordedVerdict(index)))
      : await this.queryVerdict(index);
    if (requestId !== undefined && projected.requestId !== requestId) throw new OtherTransactionError(index);
    return projected.verdict;
  }

  /** Opens a watch on these keys (see watch-keys.ts). @throws TooManyWatchesError */
  watch(keys: readonly WatchKey[]): Watch {
    return this.watches.watch(keys);
  }

  /**
   * Calls `run` synchronously whenever one of the tables has changed, or may have while announcements were missed,
   * before any caller is told of the advance. Returns a function that stops it.
   */
  onChange(tables: readonly TableName[], run: () => void): () => void {
    return this.watches.listen(wholeTables(tables), run);
  }

  /** Like `onChange`, for these rows and groups of rows. */
  onChangeOf(keys: readonly WatchKey[], run: () => void): () => void {
    return this.watches.listen(keys, run);
  }

  /**
   * Resolves with true once everything up to this index was announced here, or with false after `timeoutMs` or if too
   * many callers wait.
   */
  async announced(index: number, timeoutMs: number): Promise<boolean> {
    return index <= this.appliedTo || (await this.awaitIndex(index, timeoutMs));
  }

  /** Calls the listener synchronously after every advance. Returns a function that stops it. */
  onAdvance(listener: AdvanceListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells all waiting callers at once that nothing came. */
  stop(): void {
    this.stopped = true;
    this.silenceTimer?.();
    this.watches.closeAll();
    this.listeners.clear();
    for (const set of this.waiters.values()) for (const waiter of set) waiter(false);
  }

  /**
   * Whether an index that was announced before is announced for another transaction: PostgreSQL has gone back, because the
   * log lost its end and an operator adopted the rest. The rows that went back are announced by nobody.
   */
  private announcedOthers(entries: Announcement['entries']): boolean {
    return entries.some(({ index, requestId }) => {
      const known = this.verdicts.get(index);
      return known !== undefined && known.requestId !== requestId;
    });
  }

  private awaitIndex(index: number, timeoutMs: number): Promise<boolean> {
    if (this.stopped || this.waiting >= MAX_VERDICT_WAITERS) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiter: VerdictWaiter = (reached) => {
        cancel();
        this.waiting -= 1;
        const set = this.waiters.get(index);
        set?.delete(waiter);
        if (set?.size === 0) this.waiters.delete(index);
        resolve(reached);
      };
      const cancel = this.options.timers.after(timeoutMs, () => waiter(false));
      this.waiting += 1;
      const set = this.waiters.get(index);
      if (set) set.add(waiter);
      else this.waiters.set(index, new Set([waiter]));
      this.listenForSilence();
    });
  }

  /** Queries PostgreSQL, which may have the transaction although no announcement arrived. */
  private async queryVerdict(index: number): Promise<ProjectedTxn> {
    if (this.stopped) throw new ProjectionBehindError(index, this.appliedTo);
    return this.recordedVerdict(index);
  }

  private async recordedVerdict(index: number): Promise<ProjectedTxn> {
    const recorded = await this.options.record.txnVerdict(index);
    if (!recorded) throw new ProjectionBehindError(index, this.appliedTo);
    return recorded;
  }

  private storeVerdict(index: number, projected: ProjectedTxn): void {
    this.verdicts.set(index, projected);
    if (this.verdicts.size <= RECENT_VERDICTS) return;
    for (const oldest of this.verdicts.keys()) {
      this.verdicts.delete(oldest);
      break;
    }
  }

  /** O(awaited indexes), which are few compared with the transactions and nearly all reached. */
  private resolveReached(): void {
    for (const [index, set] of this.waiters) if (index <= this.appliedTo) for (const waiter of set) waiter(true);
  }

  private notifyListeners(): void {
    for (const listener of this.listeners) listener(this.appliedTo, this.eventSequence);
  }

  private listenForSilence(): void {
    if (this.silenceTimer || this.stopped) return;
    const heardBefore = this.heard;
    this.silenceTimer = this.options.timers.after(SILENCE_MS, () => {
      this.silenceTimer = undefined;
      if (this.waiting === 0) return;
      if (this.heard > heardBefore) this.listenForSilence();
      else
        void this.resync()
          .catch(() => {})
          .finally(() => this.listenForSilence());
    });
  }
}

/** A transaction in the read model. */
type ProjectedTxn = Pick<RecordedVerdict, 'requestId' | 'verdict'>;

type VerdictWaiter = (reached: boolean) => void;
