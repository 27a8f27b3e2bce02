import type { Clock } from '@waybill/model';
import type { Watch, WatchKey } from '@waybill/projection';

/** The answer of one run of a query. */
export interface QueryAnswer {
  /** What the client may send back as `index` (API-54). */
  readonly index: number;
}

/** What a query looked at: a change of any of it may change the answer. */
export type Watched = readonly WatchKey[];

/** Opens watches on rows of the read model. `ProjectionFeed` is one. */
export interface WatchSource {
  watch(keys: Watched): Watch;
}

export interface BlockingOptions {
  /** 0: answer at once. */
  readonly minIndex: number;
  readonly waitMs: number;
  /** The client is gone. */
  readonly signal: AbortSignal;
}

/** A random part of the wait is added, so that many clients do not come back at once (API-49). */
const JITTER_FRACTION = 1 / 16;

/**
 * Runs a query until its index is above the one asked for, or the wait is over (API-50, API-51).
 * No lost wake-up: the watch is opened before the query runs (ST-152). Cost while waiting: one watch, no polling.
 */
export class BlockingQueries {
  /** @param begun called with every query, however often it runs */
  constructor(
    private readonly source: WatchSource,
    private readonly clock: Clock,
    private readonly random: () => number,
    private readonly begun: () => void = () => {},
  ) {}

  /** @throws TooManyWatchesError, and what the query throws */
  async runQuery<A extends QueryAnswer>(
    options: BlockingOptions,
    watched: Watched,
    query: () => Promise<A>,
  ): Promise<A> {
    this.begun();
    if (options.minIndex === 0) return query();
    const waitMs = options.waitMs * (1 + this.random() * JITTER_FRACTION);
    const until = this.clock.nowMs() + waitMs;
    const watch = this.source.watch(watched);
    try {
      for (;;) {
        const answer = await query();
        const leftMs = Math.min(until - this.clock.nowMs(), waitMs); // also by a clock that was set back
        if (answer.index > options.minIndex || leftMs <= 0 || options.signal.aborted) return answer;
        if (!(await watch.changed(leftMs, options.signal))) return answer;
      }
    } finally {
      watch.close();
    }
  }
}
