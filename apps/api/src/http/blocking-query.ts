import type { Clock } from '@waybill/model';
import type { Watch, WatchKey } from '@waybill/projection';

/** QueryAnswer is the answer of one run of a query. */
export interface QueryAnswer {
  /** The index that the client may send back as `index` (API-54). */
  readonly index: number;
}

/** Watched is the rows on which a query depends. A change of any of them may change the answer. */
export type Watched = readonly WatchKey[];

/** WatchSource opens watches on rows of the read model. `ProjectionFeed` implements it. */
export interface WatchSource {
  watch(keys: Watched): Watch;
}

export interface BlockingOptions {
  /** The index of the request; 0 asks for an answer at once. */
  readonly minIndex: number;
  readonly waitMs: number;
  /** The signal is aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** The largest share of the wait that is added at random, so that many clients do not come back at once (API-49). */
const JITTER_FRACTION = 1 / 16;

/**
 * BlockingQueries runs a query until its index is above the requested one, or the wait is over (API-50, API-51). It
 * misses no change, because it opens the watch before the query runs (ST-152). Cost while waiting: one watch, no
 * polling.
 */
export class BlockingQueries {
  /** @param begun receives every query once, however often it runs */
  constructor(
    private readonly source: WatchSource,
    private readonly clock: Clock,
    private readonly random: () => number,
    private readonly begun: () => void = () => {},
  ) {}

  /** @throws TooManyWatchesError, and the errors of the query */
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
