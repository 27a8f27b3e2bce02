import {
  type Distribution,
  type Figure,
  type Figures,
  keyOf,
  type Labels,
  type Sample,
  type Series,
  type Shown,
} from '@waybill/telemetry';
import { contractName } from './contract-names.js';

/** HostFigures are the figures of one service, with the labels of its host. */
interface HostFigures extends Figures {
  readonly host: Labels;
}

const MS_PER_S = 1_000;

/**
 * Returns the figures of all services under the contract's names, one series per name, labels and host. It adds up the
 * figures of several processes of one host, or of all processes if hosts are not distinguished. Cost: linear in the
 * figures.
 */
export function shownOf(services: readonly HostFigures[]): Shown {
  return {
    gauges: addSeries(services.flatMap((one) => series(one.gauges, one.host))),
    counters: addSeries(services.flatMap((one) => series(one.counters, one.host))),
    samples: mergeSamples(services.flatMap((one) => samples(one.distributions, one.host))),
  };
}

function series(figures: readonly Figure[], host: Labels): Series[] {
  return figures.flatMap(({ name, labels, value }) => {
    const named = contractName(name, labels);
    return named ? [{ name: named.name, labels: { ...named.labels, ...host }, value }] : [];
  });
}

/** Converts samples, which are kept in seconds, to milliseconds (OP-103). */
function samples(distributions: readonly Distribution[], host: Labels): Sample[] {
  return distributions.flatMap(({ name, labels, count, sum, buckets }) => {
    const named = contractName(name, labels);
    if (!named) return [];
    const inMs = buckets.map(([bound, upTo]): readonly [number, number] => [bound * MS_PER_S, upTo]);
    return [
      { name: named.name, labels: { ...named.labels, ...host }, seen: { count, sum: sum * MS_PER_S, buckets: inMs } },
    ];
  });
}

function byKey<T extends Series | Sample>(all: readonly T[]): T[][] {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return [...groups.values()];
}

const addSeries = (all: readonly Series[]): Series[] =>
  byKey(all).flatMap(([first, ...more]) =>
    first ? [{ ...first, value: more.reduce((sum, { value }) => sum + value, first.value) }] : [],
  );

/** Adds up samples. The buckets of one name are the same in every process, because they come from the same code. */
function mergeSamples(all: readonly Sample[]): Sample[] {
  return byKey(all).flatMap(([first, ...more]) => {
    if (!first) return [];
    const seen = more.reduce(
      (sum, one) => ({
        count: sum.count + one.seen.count,
        sum: sum.sum + one.seen.sum,
        buckets: sum.buckets.map(([bound, upTo], at) => [bound, upTo + (one.seen.buckets[at]?.[1] ?? 0)] as const),
      }),
      first.seen,
    );
    return [{ ...first, seen }];
  });
}
