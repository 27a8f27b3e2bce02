import { type Distribution, type Labels, quantile } from './figures.js';

/** The prefix of every name. It is the prefix of the reference, so that existing dashboards work. [OP-102] */
export const METRICS_PREFIX = 'nomad.';

/** The `Content-Type` of the text that `asPrometheusText` returns. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** A series is one line of a dashboard: a dotted name, labels and a value. */
export interface Series {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** A sample holds durations in milliseconds. */
export interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly seen: Omit<Distribution, 'name' | 'labels'>;
}

/** Shown is everything that `/v1/metrics` shows. */
export interface Shown {
  readonly gauges: readonly Series[];
  readonly counters: readonly Series[];
  readonly samples: readonly Sample[];
}

const QUANTILES = [0.5, 0.9, 0.99] as const;
/**
 * A distribution gives only its buckets. Its minimum and maximum are estimated within the first and the last of them.
 */
const [LOWEST, HIGHEST] = [0, 1];

interface ByName {
  readonly name: string;
  readonly labels: Labels;
}
/** The key is equal for equal series. */
export const keyOf = ({ name, labels }: ByName): string =>
  `${name} ${JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)))}`;
const sorted = <T extends ByName>(series: readonly T[]): T[] =>
  series
    .map((one): [string, T] => [keyOf(one), one])
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, one]) => one);

/**
 * Returns the JSON form that clients of the reference read (OP-101), ordered by name and labels.
 * @param overS the seconds during which the figures were counted, for rates
 */
export function asJson({ gauges, counters, samples }: Shown, nowMs: number, overS: number): object {
  const at = `${new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')} +0000 UTC`;
  return {
    Timestamp: at,
    Gauges: sorted(gauges).map(({ name, value, labels }) => ({ Name: name, Value: value, Labels: labels })),
    Points: [],
    Counters: sorted(counters).map(({ name, value, labels }) => ({
      Name: name,
      Count: value,
      Rate: rateOf(value, overS),
      Sum: value,
      Min: value === 0 ? 0 : 1,
      Max: value === 0 ? 0 : 1,
      Mean: value === 0 ? 0 : 1,
      Stddev: 0,
      Labels: labels,
    })),
    Samples: sorted(samples).map(({ name, seen, labels }) => ({
      Name: name,
      Count: seen.count,
      Rate: rateOf(seen.sum, overS),
      Sum: seen.sum,
      Min: quantile(seen, LOWEST),
      Max: quantile(seen, HIGHEST),
      Mean: seen.count === 0 ? 0 : seen.sum / seen.count,
      Stddev: 0,
      Labels: labels,
    })),
  };
}

const rateOf = (sum: number, seconds: number): number => (seconds > 0 ? sum / seconds : 0);

/** Returns the text that Prometheus scrapes (OP-102, OP-103). */
export function asPrometheusText({ gauges, counters, samples }: Shown): string {
  const lines: string[] = [];
  const family = <T extends ByName>(
    series: readonly T[],
    type: string,
    write: (name: string, one: T) => void,
  ): void => {
    let current = '';
    for (const one of sorted(series)) {
      const name = promName(one.name);
      if (name !== current) lines.push(`# HELP ${name} ${one.name}`, `# TYPE ${name} ${type}`);
      current = name;
      write(name, one);
    }
  };
  const value = (name: string, one: Series): void => void lines.push(`${name}${promLabels(one.labels)} ${one.value}`);
  family(gauges, 'gauge', value);
  family(counters, 'counter', value);
  family(samples, 'summary', (name, { labels, seen }) => {
    for (const share of QUANTILES)
      lines.push(`${name}${promLabels({ ...labels, quantile: String(share) })} ${quantile(seen, share)}`);
    lines.push(`${name}_sum${promLabels(labels)} ${seen.sum}`, `${name}_count${promLabels(labels)} ${seen.count}`);
  });
  return `${lines.join('\n')}\n`;
}

const promName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_:]/g, '_');

function promLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${promName(name)}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

const escaped = (value: string): string =>
  value
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);
