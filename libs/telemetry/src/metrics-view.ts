import type { MetricFilter } from './metric-filter.js';
import { type Lately, MetricInterval } from './metric-interval.js';
import { asJson, asPrometheusText, type Shown } from './series.js';

export interface MetricsViewOptions {
  readonly clock: { nowMs(): number };
  /** The shortest time that counters and samples of the JSON form cover, in milliseconds (OP-101). */
  readonly intervalMs: number;
  readonly filter: MetricFilter;
  /** Says whether clients may get the text form (OP-100). */
  readonly offersText: boolean;
}

/**
 * MetricsView answers `/v1/metrics` of a process. It computes nothing before a request comes. It keeps two readings of
 * the JSON form, to compute what was counted between them. [OP-100 to OP-105]
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

  /** Returns the gauges of now and what was counted since the previous request of this form. */
  async lately(): Promise<Lately> {
    return this.interval.lately(await this.admitted());
  }

  async json(): Promise<object> {
    const { shown, overS } = await this.lately();
    return asJson(shown, this.options.clock.nowMs(), overS);
  }

  /** Returns the text for Prometheus. Its counts begin at the start of the process that keeps the figure. */
  async text(): Promise<string> {
    return asPrometheusText(await this.admitted());
  }

  private async admitted(): Promise<Shown> {
    return this.options.filter.of(await this.read());
  }
}
