import type { ContainerStats } from 'dockerode';
import type { TaskResourceUsage } from '@waybill/rpc';
import { resourceUsage } from '../process-usage.js';

/** UsageSample is the part of a sample that the next one needs: processor time in nanoseconds. */
export interface UsageSample {
  readonly atMs: number;
  readonly total: number;
  readonly user: number;
  readonly system: number;
}

export const NO_SAMPLE = (startedAtMs: number): UsageSample => ({ atMs: startedAtMs, total: 0, user: 0, system: 0 });

/**
 * Computes a container's use since the sample before, from the engine's statistics.
 * @param mhzPerCore the MHz that a fully used core counts as
 */
export function containerUsage(
  stats: Pick<ContainerStats, 'cpu_stats' | 'memory_stats'>,
  before: UsageSample,
  atMs: number,
  mhzPerCore: number,
): { usage: TaskResourceUsage; sample: UsageSample } {
  const { cpu_usage, throttling_data } = stats.cpu_stats;
  const memory = stats.memory_stats;
  // Version 1 of cgroups has `rss` and `cache`; version 2 has `anon` and `file`.
  const details: Partial<Record<string, number>> = { ...memory.stats };
  const sample = {
    atMs,
    total: cpu_usage.total_usage,
    user: cpu_usage.usage_in_usermode,
    system: cpu_usage.usage_in_kernelmode,
  };
  const elapsedNs = Math.max(atMs - before.atMs, 1) * 1e6;
  const percent = (key: 'total' | 'user' | 'system'): number =>
    (Math.max(0, sample[key] - before[key]) / elapsedNs) * 100;
  const total = percent('total');
  const ResourceUsage = resourceUsage(
    {
      RSS: details['rss'] ?? details['anon'] ?? 0,
      Cache: details['cache'] ?? details['file'] ?? 0,
      Swap: details['swap'] ?? 0,
      MappedFile: details['mapped_file'] ?? details['file_mapped'] ?? 0,
      Usage: memory.usage ?? 0,
      MaxUsage: memory.max_usage ?? 0,
      Measured: ['RSS', 'Cache', 'Swap', 'Mapped File', 'Usage', 'Max Usage'],
    },
    {
      Percent: total,
      UserMode: percent('user'),
      SystemMode: percent('system'),
      TotalTicks: (total / 100) * mhzPerCore,
      ThrottledPeriods: throttling_data?.throttled_periods ?? 0,
      ThrottledTime: throttling_data?.throttled_time ?? 0,
      Measured: ['Throttled Periods', 'Throttled Time', 'Percent', 'User Mode', 'System Mode'],
    },
  );
  return { usage: { ResourceUsage, Timestamp: atMs * 1e6, Pids: null }, sample };
}
