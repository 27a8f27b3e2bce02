import { keyOf, type Sample, type Series, type Shown } from './series.js';

/**
 * The number of readings that MetricInterval remembers: one that is old enough, and one that becomes old enough next.
 */
const LOOKS = 2;

interface Look {
  readonly atMs: number;
  readonly counters: ReadonlyMap<string, number>;
  readonly samples: ReadonlyMap<string, Sample['seen']>;
}

/** Lately holds what was counted during a stated time. */
export interface Lately {
  readonly shown: Shown;
  /** The length of that time in seconds. */
  readonly overS: number;
}

/**
 * MetricInterval computes what happened recently from figures that count since their processes began. The result is the
 * difference from a reading that is at least one interval old. Nothing reads by itself: an answer covers the time since
 * the previous request, and the first answer covers all the time since the start. Memory: two readings.
 */
export class MetricInterval {
  private looks: Look[] = [];
  private readonly startedMs: number;

  /** @param intervalMs the shortest time that an answer covers if there was an earlier request (OP-101) */
  constructor(
    private readonly clock: { nowMs(): number },
    private readonly intervalMs: number,
  ) {
    this.startedMs = clock.nowMs();
  }

  /** Leaves out counters and samples that did not change in the time. Gauges stay as they are. */
  lately(now: Shown): Lately {
    const atMs = this.clock.nowMs();
    const since = this.looks.findLast((look) => atMs - look.atMs >= this.intervalMs);
    this.remember(now, atMs);
    const overS = (atMs - (since?.atMs ?? this.startedMs)) / 1_000;
    if (!since) return { shown: now, overS };
    const counters = now.counters.map((one) => counterSince(one, since.counters.get(keyOf(one))));
    const samples = now.samples.map((one) => sampleSince(one, since.samples.get(keyOf(one))));
    const shown = {
      gauges: now.gauges,
      counters: counters.filter(({ value }) => value > 0),
      samples: samples.filter(({ seen }) => seen.count > 0),
    };
    return { shown, overS };
  }

  private remember({ counters, samples }: Shown, atMs: number): void {
    const last = this.looks.at(-1);
    if (last && atMs - last.atMs < this.intervalMs) return;
    const look = {
      atMs,
      counters: new Map(counters.map((one) => [keyOf(one), one.value])),
      samples: new Map(samples.map((one) => [keyOf(one), one.seen])),
    };
    this.looks = [...this.looks, look].slice(-LOOKS);
  }
}

/** A counter that is lower than before belongs to a process that restarted. */
function counterSince(now: Series, before = 0): Series {
  return now.value < before ? now : { ...now, value: now.value - before };
}

function sampleSince(now: Sample, before: Sample['seen'] | undefined): Sample {
  if (!before || now.seen.count < before.count) return now;
  const { count, sum, buckets } = now.seen;
  const seen = {
    count: count - before.count,
    sum: sum - before.sum,
    buckets: buckets.map(([bound, upTo], at) => [bound, upTo - (before.buckets[at]?.[1] ?? 0)] as const),
  };
  return { ...now, seen };
}
