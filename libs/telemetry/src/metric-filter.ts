import type { Shown } from './series.js';

/** Of all names that begin so: shown, or not. */
export interface FilterRule {
  readonly prefix: string;
  readonly admits: boolean;
}

/**
 * Which metrics are shown (`prefix_filter` and `filter_default` of OP-105), by their names in dots. The longest prefix
 * decides; of two rules for the same one, the refusal. Cost: a comparison per rule and series.
 */
export class MetricFilter {
  private readonly rules: readonly FilterRule[];

  /** @param admitsOthers whether what no rule is about is shown */
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
