import { describe, expect, it } from 'vitest';
import { containerUsage, NO_SAMPLE } from './container-usage.js';

type Stats = Parameters<typeof containerUsage>[0];

const stats = (total: number, memory: Record<string, number>): Stats =>
  ({
    cpu_stats: {
      cpu_usage: { total_usage: total, usage_in_usermode: total / 2, usage_in_kernelmode: total / 4 },
      throttling_data: { periods: 0, throttled_periods: 3, throttled_time: 4 },
    },
    memory_stats: { usage: 100, max_usage: 200, stats: memory },
  }) as unknown as Stats;

describe('what a container uses', () => {
  it('AG-278: the processor between two looks, memory as it is', () => {
    const first = containerUsage(stats(1e9, { rss: 10, cache: 20 }), NO_SAMPLE(0), 10_000, 2_000);
    expect(first.usage.ResourceUsage.CpuStats).toMatchObject({
      Percent: 10,
      UserMode: 5,
      SystemMode: 2.5,
      TotalTicks: 200,
    });
    const second = containerUsage(stats(2e9, { anon: 30, file: 40 }), first.sample, 11_000, 2_000);
    expect(second.usage.ResourceUsage).toMatchObject({
      CpuStats: { Percent: 100, ThrottledPeriods: 3, ThrottledTime: 4 },
      MemoryStats: { RSS: 30, Cache: 40, Usage: 100, MaxUsage: 200 },
    });
  });

  it('an engine that was restarted counts anew: never below nothing', () => {
    const before = { atMs: 0, total: 5e9, user: 1e9, system: 1e9 };
    expect(containerUsage(stats(1e9, {}), before, 1_000, 1_000).usage.ResourceUsage.CpuStats.Percent).toBe(0);
  });
});
