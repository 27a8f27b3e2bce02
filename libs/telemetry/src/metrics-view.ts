import type { MetricFilter } from './metric-filter.js';
import { type Lately, MetricInterval } from './metric-interval.js';
import { asJson, asPrometheusText, type Shown } from './series.js';

export interface MetricsViewOptions {
  readonly clock: { nowMs(): number };
  /** Shortest time that counters and samples of the JSON form cover, ms (OP-101). */
  readonly intervalMs: number;
  readonly filter: MetricFilter;
  /** Whether clients may have the text form (OP-100). */
  readonly offersText: boolean;
}

/**
 * What `/v1/metrics` of a process answers (OP-100 to OP-105). Nothing is made before somebody looks; kept are two looks of
 * the JSON form, for what was counted between them.
 */
export class MetricsView {
  private readonly interval: MetricInterval;

  constructor(
    private readonly read: () => Promise<Shown>,
    private readonly options: MetricsViewOptions,
  ) {
    this.interval = new MetricInterval(options.clock, options.intervalMs);
  }

  get offersText(): boolean {
    return this.options.offersText;
  }

  /** What there is now, and what was counted since somebody asked this way before. */
  async lately(): Promise<Lately> {
    return this.interval.lately(await this.admitted());
  }

  async json(): Promise<object> {
    const { shown, overS } = await this.lately();
    return asJson(shown, this.options.clock.nowMs(), overS);
  }

  /** For Prometheus: counts since the process that keeps a figure began. */
  async text(): Promise<string> {
    return asPrometheusText(await this.admitted());
  }

  private async admitted(): Promise<Shown> {
    return this.options.filter.of(await this.read());
  }
}
