import { expect, it } from 'vitest';
import { MAX_PACKET_BYTES, statsdPackets } from './statsd-packets.js';

const NOTHING = { gauges: [], counters: [], samples: [] };

it('OP-105: gauges, counters and times, with the values of labels in their names', () => {
  const labels = { job: 'a:b c|d', host: 'h' };
  const sample = (count: number, sum: number) => ({ name: 'nomad.s', labels: {}, seen: { count, sum, buckets: [] } });
  const [packet, ...more] = statsdPackets({
    gauges: [{ name: 'nomad.g', labels, value: 1.5 }],
    counters: [{ name: 'nomad.c', labels: {}, value: 7 }],
    samples: [sample(1, 12), sample(4, 100), sample(0, 0)],
  });
  expect(more).toEqual([]);
  expect(packet?.split('\n')).toEqual([
    'nomad.g.a_b_c_d.h:1.5|g',
    'nomad.c:7|c',
    'nomad.s:12|ms',
    'nomad.s:25|ms|@0.25',
    '',
  ]);
});

it('OP-105: a packet is never larger than networks carry, and nothing is lost between two', () => {
  const gauges = Array.from({ length: 500 }, (_, n) => ({ name: `nomad.gauge.${n}`, labels: {}, value: n }));
  const packets = statsdPackets({ ...NOTHING, gauges });
  expect(Math.max(...packets.map((packet) => Buffer.byteLength(packet)))).toBeLessThanOrEqual(MAX_PACKET_BYTES + 1);
  expect(packets.join('').trim().split('\n')).toEqual(gauges.map(({ name, value }) => `${name}:${value}|g`));
  expect(statsdPackets(NOTHING)).toEqual([]);
});
