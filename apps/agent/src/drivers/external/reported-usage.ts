import { msOf, type TaskStatsMessage, type UsageMessage } from '@waybill/plugins';
import type { ResourceUsage, TaskResourceUsage } from '@waybill/rpc';
import { resourceUsage } from '../process-usage.js';

const CPU_FIELDS: ReadonlyMap<string, string> = new Map([
  ['SYSTEM_MODE', 'System Mode'],
  ['USER_MODE', 'User Mode'],
  ['TOTAL_TICKS', 'Total Ticks'],
  ['THROTTLED_PERIODS', 'Throttled Periods'],
  ['THROTTLED_TIME', 'Throttled Time'],
  ['PERCENT', 'Percent'],
]);
const MEMORY_FIELDS: ReadonlyMap<string, string> = new Map([
  ['RSS', 'RSS'],
  ['CACHE', 'Cache'],
  ['MAX_USAGE', 'Max Usage'],
  ['KERNEL_USAGE', 'Kernel Usage'],
  ['KERNEL_MAX_USAGE', 'Kernel Max Usage'],
  ['USAGE', 'Usage'],
  ['SWAP', 'Swap'],
]);

/** Converts the statistics that a driver reports about a task (PG-64). Only measured fields are named. */
export const taskUsage = ({
  timestamp,
  agg_resource_usage: all,
  resource_usage_by_pid: byPid,
}: TaskStatsMessage): TaskResourceUsage => ({
  ResourceUsage: usageOf(all),
  Timestamp: Math.round(msOf(timestamp) * 1e6),
  Pids: Object.fromEntries(Object.entries(byPid).map(([pid, usage]) => [pid, usageOf(usage)])),
});

function usageOf(usage: UsageMessage | null): ResourceUsage {
  const { cpu = null, memory = null } = usage ?? {};
  return resourceUsage(
    memory
      ? {
          RSS: Number(memory.rss),
          Cache: Number(memory.cache),
          Swap: Number(memory.swap),
          Usage: Number(memory.usage),
          MaxUsage: Number(memory.max_usage),
          KernelUsage: Number(memory.kernel_usage),
          KernelMaxUsage: Number(memory.kernel_max_usage),
          Measured: fieldNames(memory.measured_fields, MEMORY_FIELDS),
        }
      : {},
    cpu
      ? {
          SystemMode: cpu.system_mode,
          UserMode: cpu.user_mode,
          TotalTicks: cpu.total_ticks,
          ThrottledPeriods: Number(cpu.throttled_periods),
          ThrottledTime: Number(cpu.throttled_time),
          Percent: cpu.percent,
          Measured: fieldNames(cpu.measured_fields, CPU_FIELDS),
        }
      : {},
  );
}

const fieldNames = (fields: readonly string[], names: ReadonlyMap<string, string>): string[] =>
  fields.flatMap((field) => names.get(field) ?? []);
