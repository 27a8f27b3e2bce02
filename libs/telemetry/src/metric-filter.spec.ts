import { describe, expect, it } from 'vitest';
import { type FilterRule, MetricFilter } from './metric-filter.js';

const rules = (...given: string[]): FilterRule[] =>
  given.map((rule) => ({ prefix: rule.slice(1), admits: rule.startsWith('+') }));

describe('which metrics are shown', () => {
  it('OP-105: by the longest prefix that fits, whatever the order; of equal ones the refusal', () => {
    const filter = new MetricFilter(rules('-nomad.client', '+nomad.client.host', '+nomad.raft', '-nomad.raft'), true);
    const shown = (name: string) => filter.admits(name);
    expect(['nomad.client.uptime', 'nomad.client.host.cpu.idle', 'nomad.raft.lastIndex'].map(shown)).toEqual([
      false,
      true,
      false,
    ]);
    expect(shown('nomad.nomad.broker.total_ready')).toBe(true);
  });

  it('OP-105: filter_default false shows only what a rule admits, of gauges, counters and samples', () => {
    const filter = new MetricFilter(rules('+nomad.a'), false);
    const series = (name: string) => ({ name, labels: {}, value: 1 });
    const sample = (name: string) => ({ name, labels: {}, seen: { count: 1, sum: 1, buckets: [] } });
    const shown = filter.of({
      gauges: [series('nomad.a'), series('nomad.b')],
      counters: [series('nomad.a.c'), series('nomad.b.c')],
      samples: [sample('nomad.b.s'), sample('nomad.a.s')],
    });
    const names = [shown.gauges, shown.counters, shown.samples].map((all) => all.map(({ name }) => name));
    expect(names).toEqual([['nomad.a'], ['nomad.a.c'], ['nomad.a.s']]);
  });
});
