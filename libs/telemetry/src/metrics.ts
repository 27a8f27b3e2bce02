import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Figures, figuresOf, type Labels } from './figures.js';

/** Seconds; from a fast in-memory step to a write that waited for its deadline. */
const DEFAULT_BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface GaugeOptions {
  readonly labels?: readonly string[];
  /** Called when metrics are read; returns the value now. */
  readonly collect?: () => number;
  /** Called when metrics are read, with the gauge emptied; sets what is there now, by label. */
  readonly collectInto?: (gauge: Gauge) => void;
}

/**
 * The metrics of one service in its own registry, so that several services fit in one process. Names get the prefix
 * `waybill_` and every line the label `service`. Asking for a name again gives the same metric.
 */
export class Metrics {
  private readonly registry = new Registry();

  constructor(readonly service: string) {
    this.registry.setDefaultLabels({ service });
  }

  /** Adds memory, CPU, event loop and GC figures of the process. Once per process is enough. */
  withProcessMetrics(): this {
    collectDefaultMetrics({ register: this.registry });
    return this;
  }

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const known = this.registry.getSingleMetric(prefixed(name));
    if (known instanceof Counter) return known;
    return new Counter({ name: prefixed(name), help, labelNames: [...labels], registers: [this.registry] });
  }

  /** A counter that is kept elsewhere: `read` is called when metrics are read, and tells what it has counted. */
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

  /** Buckets in seconds unless given. */
  histogram(name: string, help: string, labels: readonly string[] = [], buckets = DEFAULT_BUCKETS_S): Histogram {
    const known = this.registry.getSingleMetric(prefixed(name));
    if (known instanceof Histogram) return known;
    return new Histogram({ name: prefixed(name), help, labelNames: [...labels], buckets, registers: [this.registry] });
  }

  /** The Prometheus text format. */
  render(): Promise<string> {
    return this.registry.metrics();
  }

  /** The metrics whose names begin so, as plain values. */
  async figures(prefix: string): Promise<Figures> {
    const families = await this.registry.getMetricsAsJSON();
    return figuresOf(families.filter(({ name }) => name.startsWith(prefix)));
  }

  /** Value of the `Content-Type` header of `render`'s text. */
  get contentType(): string {
    return this.registry.contentType;
  }
}

const prefixed = (name: string): string => (name.startsWith('waybill_') ? name : `waybill_${name}`);

/** A name of the code as part of a metric's: `statusWriteRetries` is `status_write_retries`. */
export const snakeCase = (name: string): string =>
  name
    .replaceAll(/[^A-Za-z0-9]/g, '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();
