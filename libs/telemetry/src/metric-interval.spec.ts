import { describe, expect, it } from 'vitest';
import { MetricInterval } from './metric-interval.js';
import type { Shown } from './series.js';

const INTERVAL_MS = 10_000;

/** Looks at a service that has counted this often, each time within 5 ms but `slow` times. */
function looking() {
  const clock = { at: 1_000_000, nowMs: () => clock.at };
  const interval = new MetricInterval(clock, INTERVAL_MS);
  const look = (value: number, slow = 0) => {
    const named = { name: 'nomad.nomad.plan.submit', labels: { host: 'h' } };
    const buckets = [
      [5, value - slow],
      [10, value],
    ] as const;
    const shown: Shown = {
      gauges: [{ name: 'g', labels: {}, value }],
      counters: [{ name: 'c', labels: {}, value }],
      samples: [{ ...named, seen: { count: value, sum: value * 2, buckets } }],
    };
    const { shown: lately, overS } = interval.lately(shown);
    const [counter, sample] = [lately.counters[0]?.value, lately.samples[0]?.seen];
    return {
      overS,
      gauge: lately.gauges[0]?.value,
      counter,
      count: sample?.count,
      sum: sample?.sum,
      buckets: sample?.buckets,
    };
  };
  return { look, pass: (ms: number) => (clock.at += ms) };
}

describe('figures of an interval', () => {
  it('OP-101: the first look shows all there was, a later one what came since one that is ten seconds old', () => {
    const { look, pass } = looking();
    pass(60_000);
    expect(look(100)).toMatchObject({ overS: 60, counter: 100, count: 100 });
    pass(INTERVAL_MS);
    const lately = look(130, 5);
    expect(lately).toMatchObject({ overS: 10, gauge: 130, counter: 30, count: 30, sum: 60 });
    expect(lately.buckets).toEqual([
      [5, 25],
      [10, 30],
    ]);
  });

  it('OP-101: who looks often does not make the interval shorter', () => {
    const { look, pass } = looking();
    look(0);
    for (let second = 1; second <= 14; second++) {
      pass(1_000);
      look(second);
    }
    pass(1_000);
    expect(look(15)).toMatchObject({ overS: 15, counter: 15 }); // the look at 10 s is not old enough
    pass(5_000);
    expect(look(20)).toMatchObject({ overS: 10, counter: 10 });
  });

  it('OP-101: what was not counted is left out, gauges are not; a process that began anew counts as it says', () => {
    const { look, pass } = looking();
    look(50);
    pass(INTERVAL_MS);
    expect(look(50)).toEqual({ overS: 10, gauge: 50 });
    pass(INTERVAL_MS);
    expect(look(3)).toMatchObject({ gauge: 3, counter: 3, count: 3 });
  });
});
