import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Figures, figuresOf, type Labels } from './figures.js';

/** The default buckets in seconds. They reach from a fast step in memory to a write that waited for its deadline. */
const DEFAULT_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface GaugeOptions {
  readonly labels?: readonly string[];
  /** The registry calls this function at each reading; it returns the current value. */
  readonly collect?: () => number;
  /**
   * The registry calls this function at each reading, with the gauge emptied. The function sets the current values by
   * label.
   */
  readonly collectInto?: (gauge: Gauge) => void;
}

/**
 * Metrics holds the metrics of one service in a registry of their own, so several services fit in one process. Names
 * get the prefix `waybill_` and every line the label `service`. A second request for a name returns the same metric.
 */
export class Metrics {
  private readonly registry = new Registry();

  constructor(readonly service: string) {
    this.registry.setDefaultLabels({ service });
  }

  /** Adds figures of the process: memory, CPU, event loop and garbage collection. One call per process is enough. */
  withProcessMetrics(): this {
    collectDefaultMetrics({ register: this.registry });
    return this;
  }

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const known = this.registry.getSingleMetric(prefixed(name));
    if (known instanceof Counter) return known;
    return new Counter({ name: prefixed(name), help, labelNames: [...labels], registers: [this.registry] });
  }

  /**
   * Adds a counter whose value another object keeps. The registry calls `read` at each reading to get the current
   * count.
   */
  counted(name: string, help: string, read: () => number, labels: Labels = {}): Counter {
    return new Counter({
      name: prefixed(name),
      help,
      labelNames: Object.keys(labels),
      registers: [this.registry],
      collect(this: Counter): void {
        this.reset();
        this.inc(labels, read());
      },
    });
  }

  gauge(name: string, help: string, options: GaugeOptions = {}): Gauge {
    const known = this.registry.getSingleMetric(prefixed(name));
    if (known instanceof Gauge) return known;
    const { collect, collectInto } = options;
    return new Gauge({
      name: prefixed(name),
      help,
      labelNames: [...(options.labels ?? [])],
      registers: [this.registry],
      ...(collect && {
        collect(this: Gauge): void {
          this.set(collect());
        },
      }),
      ...(collectInto && {
        collect(this: Gauge): void {
          this.reset();
          collectInto(this);
        },
      }),
    });
  }

  /** The default buckets are in seconds. */
  histogram(name: string, help: string, labels: readonly string[] = [], buckets = DEFAULT_BUCKETS_S): Histogram {
    const known = this.registry.getSingleMetric(prefixed(name));
    if (known instanceof Histogram) return known;
    return new Histogram({ name: prefixed(name), help, labelNames: [...labels], buckets, registers: [this.registry] });
  }

  /** Returns all metrics in Prometheus' text format. */
  render(): Promise<string> {
    return this.registry.metrics();
  }

  /** Returns the metrics whose names begin with the prefix, as plain values. */
  async figures(prefix: string): Promise<Figures> {
    const families = await this.registry.getMetricsAsJSON();
    return figuresOf(families.filter(({ name }) => name.startsWith(prefix)));
  }

  /** The value of the `Content-Type` header for the text of `render`. */
  get contentType(): string {
    return this.registry.contentType;
  }
}

const prefixed = (name: string): string => (name.startsWith('waybill_') ? name : `waybill_${name}`);

/** Converts a name of the code to a part of a metric's name: `statusWriteRetries` becomes `status_write_retries`. */
export const snakeCase = (name: string): string =>
  name
    .replaceAll(/[^A-Za-z0-9]/g, '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
