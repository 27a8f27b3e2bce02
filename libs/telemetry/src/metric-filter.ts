import type { Shown } from './series.js';

/** A rule shows or hides all metrics whose names begin with its prefix. */
export interface FilterRule {
  readonly prefix: string;
  readonly admits: boolean;
}

/**
 * MetricFilter decides which metrics are shown (`prefix_filter` and `filter_default`), by their dotted names. The rule
 * with the longest prefix decides. If two rules have the same prefix, the one that hides wins. Cost: one comparison per
 * rule and series. [OP-105]
 */
export class MetricFilter {
  private readonly rules: readonly FilterRule[];

  /** @param admitsOthers whether metrics that match no rule are shown */
  constructor(
    rules: readonly FilterRule[],
    private readonly admitsOthers: boolean,
  ) {
    this.rules = rules.toSorted((a, b) => b.prefix.length - a.prefix.length || Number(a.admits) - Number(b.admits));
  }

  admits(name: string): boolean {
    return this.rules.find(({ prefix }) => name.startsWith(prefix))?.admits ?? this.admitsOthers;
  }

  of({ gauges, counters, samples }: Shown): Shown {
    const admitted = <T extends { readonly name: string }>(series: readonly T[]): T[] =>
      series.filter(({ name }) => this.admits(name));
    return { gauges: admitted(gauges), counters: admitted(counters), samples: admitted(samples) };
  }
}
