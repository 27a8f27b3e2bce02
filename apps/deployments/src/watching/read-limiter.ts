import { type CancelTimer, type Clock, type Timers, TokenBucket } from '@waybill/model';

/** Reads per second of all watchers together, and the burst (DP-612). */
export const DEFAULT_READS_PER_SECOND = 100;

/** The rate that a setting gives: 0 means the default. */
export const readsPerSecond = (setting: number): number => (setting === 0 ? DEFAULT_READS_PER_SECOND : setting);

/** A watcher that waits for its turn to read. */
export interface Reader {
  readAllocations(): void;
}

/**
 * Gives each watcher its turn to read its allocations, in order of request, at a limited rate with a burst of one
 * second's worth (DP-612). A watcher that waits is queued once (DP-608), and none is dropped. Watchers with changes and
 * watchers that only begin (those of a whole cluster after a change of leader) alternate, so that neither delays the
 * other. Cost: O(1) for each request; one timer while a watcher waits.
 */
export class ReadLimiter {
  /** Watchers with changes, and since when each waits, unix ms, in order. */
  private readonly withNews = new Map<Reader, number>();
  private readonly beginning = new Map<Reader, number>();
  private newsIsNext = true;
  private readonly turns: TokenBucket;
  private timer: CancelTimer | undefined;
  /** Total time that watchers have waited, ms. */
  waitedMs = 0;

  constructor(
    private readonly time: { readonly clock: Clock; readonly timers: Timers },
    perSecond: number = DEFAULT_READS_PER_SECOND,
  ) {
    this.turns = new TokenBucket(time.clock, { perSecond, burst: Math.max(1, perSecond) });
  }

  get size(): number {
    return this.withNews.size + this.beginning.size;
  }

  /** Queues a watcher whose deployment changed. */
  requestRead(reader: Reader): void {
    if (this.withNews.has(reader)) return;
    this.withNews.set(reader, this.beginning.get(reader) ?? this.time.clock.nowMs());
    this.beginning.delete(reader);
    this.scheduleReads();
  }

  /** Queues the first read of a watcher (DP-615). */
  requestFirst(reader: Reader): void {
    if (this.withNews.has(reader) || this.beginning.has(reader)) return;
    this.beginning.set(reader, this.time.clock.nowMs());
    this.scheduleReads();
  }

  forget(reader: Reader): void {
    this.withNews.delete(reader);
    this.beginning.delete(reader);
  }

  stop(): void {
    this.timer?.();
    this.timer = undefined;
    this.withNews.clear();
    this.beginning.clear();
  }

  private scheduleReads(): void {
    if (this.timer || this.size === 0) return;
    this.timer = this.time.timers.after(Math.ceil(this.turns.waitMs()), () => {
      this.timer = undefined;
      this.serveReaders();
      this.scheduleReads();
    });
  }

  private serveReaders(): void {
    const nowMs = this.time.clock.nowMs();
    for (let next = this.nextReader(); next; next = this.nextReader()) {
      const [reader, sinceMs] = next;
      this.forget(reader);
      this.waitedMs += Math.max(0, nowMs - sinceMs);
      reader.readAllocations();
    }
  }

  /** The watcher that reads now, and since when it waits; undefined if none waits, or the rate is used up. */
  private nextReader(): readonly [Reader, number] | undefined {
    if (this.size === 0 || !this.turns.tryTake()) return undefined;
    const [news] = this.withNews;
    const [first] = this.beginning;
    if (!news || !first) return news ?? first;
    this.newsIsNext = !this.newsIsNext;
    return this.newsIsNext ? first : news;
  }
}
