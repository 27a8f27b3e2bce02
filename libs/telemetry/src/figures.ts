export type Labels = Readonly<Record<string, string>>;

/** Figure is one value of a gauge or a counter. */
export interface Figure {
  /** The name is the metric's name in the registry. */
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** Distribution is the content of a histogram. */
export interface Distribution {
  readonly name: string;
  readonly labels: Labels;
  readonly count: number;
  readonly sum: number;
  /**
   * Each bucket is an upper bound with the number of values at or below it. The bounds ascend. Values above the highest
   * bound are only in `count`.
   */
  readonly buckets: readonly (readonly [bound: number, count: number])[];
}

/**
 * Figures are the metrics of a service as plain values. Other code sends them, adds them up and shows them in other
 * forms than that of Prometheus.
 */
export interface Figures {
  readonly gauges: readonly Figure[];
  readonly counters: readonly Figure[];
  readonly distributions: readonly Distribution[];
}

/** RegistryValue is one value as the registry returns it. */
interface RegistryValue {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly metricName?: string;
}
interface Family {
  readonly name: string;
  readonly type: unknown;
  readonly values: readonly RegistryValue[];
}

/** Converts what a registry holds to figures. It leaves out the label `service`, which every line has. */
export function figuresOf(families: readonly Family[]): Figures {
  const ofType = (type: string): Family[] => families.filter((family) => family.type === type);
  const simple = (type: string): Figure[] =>
    ofType(type).flatMap(({ name, values }) =>
      values.map(({ labels, value }) => ({ name, labels: shown(labels), value })),
    );
  return {
    gauges: simple('gauge'),
    counters: simple('counter'),
    distributions: ofType('histogram').flatMap(distributionsOf),
  };
}

function distributionsOf({ name, values }: Family): Distribution[] {
  const found = new Map<string, { labels: Labels; count: number; sum: number; buckets: [number, number][] }>();
  for (const { metricName, labels, value } of values) {
    const { le, ...rest } = labels;
    const own = shown(rest);
    const key = JSON.stringify(own);
    const one = found.get(key) ?? { labels: own, count: 0, sum: 0, buckets: [] };
    found.set(key, one);
    if (metricName === `${name}_sum`) one.sum = value;
    else if (metricName === `${name}_count`) one.count = value;
    else if (le !== undefined && Number.isFinite(Number(le))) one.buckets.push([Number(le), value]);
  }
  return [...found.values()].map((one) => ({ name, ...one }));
}

function shown({ service: _service, ...labels }: RegistryValue['labels']): Labels {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, String(value)]));
}

/**
 * Estimates the value below which a given share of the values lies, by interpolation within its bucket. The result is 0
 * when the distribution is empty.
 */
export function quantile({ count, sum, buckets }: Omit<Distribution, 'name' | 'labels'>, share: number): number {
  if (count === 0) return 0;
  const rank = share * count;
  let [below, seen] = [0, 0];
  for (const [bound, upTo] of buckets) {
    if (upTo >= rank && upTo > seen) return below + ((bound - below) * (rank - seen)) / (upTo - seen);
    [below, seen] = [bound, upTo];
  }
  return Math.max(below, sum / count); // above every bound: nothing more is known
}
