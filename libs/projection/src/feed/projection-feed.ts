import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { TableName, Verdict } from '@waybill/state';
import type { Announcement } from './announcement.js';
import { OtherTransactionError, ProjectionBehindError } from '../errors.js';
import type { RecordedVerdict } from '../reading/recorded-verdict.js';
import { type WatchKey, wholeTables } from '../reading/watch-keys.js';
import { type Watch, Watches } from '../reading/watches.js';

/** Verdicts kept for writers whose acknowledgement comes after the announcement. */
export const RECENT_VERDICTS = 8_192;
/** Writers waiting at once; more are refused. */
export const MAX_VERDICT_WAITERS = 20_000;
/** While somebody waits and no announcement comes for this long, Postgres is asked instead, milliseconds. */
export const SILENCE_MS = 500;

/** What the feed asks Postgres when it has missed something. `ReadModel` is one. */
export interface ProjectionRecord {
  appliedIndex(): Promise<number>;
  txnVerdict(index: number): Promise<RecordedVerdict | undefined>;
}

export interface FeedOptions {
  readonly record: ProjectionRecord;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Called when the read model has advanced: the index, and the last sequence of EVENTS that belongs to it. */
export type AdvanceListener = (applied: number, eventSequence: number) => void;

/**
 * What one process knows of how far the read model is, and who waits for it: writers for their verdict, blocking queries
 * for a change, event subscribers for an index.
 *
 * Modes: new → following → stopped. While following, announcements arrive through `receive`. They may be lost (they are
 * plain messages): an announcement that does not begin where the last one ended, a reconnect (`resync`), or SILENCE_MS
 * without any while somebody waits make the feed ask Postgres, wake every watch and look verdicts up there. So a lost
 * announcement costs time, never an answer.
 * Limits: RECENT_VERDICTS, MAX_VERDICT_WAITERS, MAX_WATCHES. Cost of an announcement: its entries and those it wakes.
 */
export class ProjectionFeed {
  private appliedTo = 0;
  private appliedAtMs: number;
  private heardAtMs: number;
  /** Announcements that have arrived. */
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

  /** Index the read model has reached, as far as known here. */
  get applied(): number {
    return this.appliedTo;
  }

  /** Last sequence of EVENTS announced. */
  get events(): number {
    return this.eventSequence;
  }

  /** Milliseconds since the projector was last heard; for `X-Nomad-LastContact`, which is 0 while it is current. */
  get silentForMs(): number {
    return Math.max(0, this.options.clock.nowMs() - this.heardAtMs);
  }

  /** When Postgres had `applied`, unix milliseconds. */
  get lastAppliedAtMs(): number {
    return this.appliedAtMs;
  }

  /** Watches open, for metrics. */
  get watchCount(): number {
    return this.watches.size;
  }

  /** An announcement has arrived. */
  receive(announcement: Announcement): void {
    if (this.stopped) return;
    const { from, to, entries } = announcement;
    this.heard += 1;
    this.heardAtMs = this.options.clock.nowMs();
    this.eventSequence = Math.max(this.eventSequence, announcement.eventSequence);
    if (to <= this.appliedTo) {
      if (to === this.appliedTo) this.tellListeners(); // EVENTS may have become known only now
      return;
    }
    const missed = from > this.appliedTo;
    this.appliedTo = to;
    this.appliedAtMs = announcement.appliedAtMs;
    for (const { index, requestId, verdict, keys } of entries) {
      if (verdict) this.remember(index, { requestId, verdict });
      if (!missed) this.watches.wake(keys);
    }
    if (missed) this.watches.wakeAll();
    this.settle();
    this.tellListeners();
  }

  /**
   * Asks Postgres where the projection is: at the start, and after a reconnect, when announcements may have been missed.
   * @throws what the database throws
   */
  async resync(): Promise<void> {
    const applied = await this.options.record.appliedIndex();
    if (this.stopped || applied <= this.appliedTo) return;
    this.appliedTo = applied;
    this.appliedAtMs = this.options.clock.nowMs();
    this.watches.wakeAll();
    this.settle();
    this.tellListeners();
  }

  /**
   * The verdict of the transaction with this index, once the read model has it (ST-10).
   * @param requestId of the transaction, for a caller who knows it: a log that lost its end may give an index again
   * @throws ProjectionBehindError after `timeoutMs`, or when too many wait; OtherTransactionError; what the database throws
   */
  async waitFor(index: number, timeoutMs: number, requestId?: string): Promise<Verdict> {
    const isThere = index <= this.appliedTo || (await this.reach(index, timeoutMs));
    const projected = isThere
      ? (this.verdicts.get(index) ?? (await this.recorded(index)))
      : await this.lastChance(index);
    if (requestId !== undefined && projected.requestId !== requestId) throw new OtherTransactionError(index);
    return projected.verdict;
  }

  /** Opens a watch on these keys; see watch-keys.ts for what there is. @throws TooManyWatchesError */
  watch(keys: readonly WatchKey[]): Watch {
    return this.watches.watch(keys);
  }

  /**
   * Calls `run` synchronously whenever one of the tables has changed, or may have while announcements were missed; before
   * anybody is told of the advance. Returns the way to stop.
   */
  onChange(tables: readonly TableName[], run: () => void): () => void {
    return this.watches.listen(wholeTables(tables), run);
  }

  /** As `onChange`, for changes of these rows and groups of rows. */
  onChangeOf(keys: readonly WatchKey[], run: () => void): () => void {
    return this.watches.listen(keys, run);
  }

  /** True once everything up to this index has been announced here; false after `timeoutMs`, or when too many wait. */
  async announced(index: number, timeoutMs: number): Promise<boolean> {
    return index <= this.appliedTo || (await this.reach(index, timeoutMs));
  }

  /** Called after every advance, synchronously. Returns the way to stop. */
  onAdvance(listener: AdvanceListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Everybody who waits is told at once that nothing came. */
  stop(): void {
    this.stopped = true;
    this.silenceTimer?.();
    this.watches.closeAll();
    this.listeners.clear();
    for (const set of this.waiters.values()) for (const waiter of set) waiter(false);
  }

  private reach(index: number, timeoutMs: number): Promise<boolean> {
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

  /** Postgres may have it although nobody told us. */
  private async lastChance(index: number): Promise<ProjectedTxn> {
    if (this.stopped) throw new ProjectionBehindError(index, this.appliedTo);
    return this.recorded(index);
  }

  private async recorded(index: number): Promise<ProjectedTxn> {
    const recorded = await this.options.record.txnVerdict(index);
    if (!recorded) throw new ProjectionBehindError(index, this.appliedTo);
    return recorded;
  }

  private remember(index: number, projected: ProjectedTxn): void {
    this.verdicts.set(index, projected);
    if (this.verdicts.size <= RECENT_VERDICTS) return;
    for (const oldest of this.verdicts.keys()) {
      this.verdicts.delete(oldest);
      break;
    }
  }

  /** O(indexes waited for): they are few beside the transactions, and nearly all of them are reached. */
  private settle(): void {
    for (const [index, set] of this.waiters) if (index <= this.appliedTo) for (const waiter of set) waiter(true);
  }

  private tellListeners(): void {
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

/** A transaction as the read model has it. */
type ProjectedTxn = Pick<RecordedVerdict, 'requestId' | 'verdict'>;

type VerdictWaiter = (reached: boolean) => void;
