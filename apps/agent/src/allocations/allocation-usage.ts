import type { AllocResourceUsage, ResourceUsage, TaskResourceUsage } from '@waybill/rpc';
import { resourceUsage } from '../drivers/process-usage.js';

/**
 * Returns the usage of an allocation: the sum over its running tasks (AG-330).
 * @param nowNs the timestamp if no task runs
 */
export function usageOfAllocation(
  tasks: Readonly<Record<string, TaskResourceUsage>>,
  nowNs: number,
): AllocResourceUsage {
  const all = Object.values(tasks);
  return {
    ResourceUsage: all.map((task) => task.ResourceUsage).reduce(addUsage, resourceUsage({}, {})),
    Tasks: tasks,
    Timestamp: all.length === 0 ? nowNs : Math.max(...all.map((task) => task.Timestamp)),
  };
}

function addUsage(a: ResourceUsage, b: ResourceUsage): ResourceUsage {
  const [ma, mb, ca, cb] = [a.MemoryStats, b.MemoryStats, a.CpuStats, b.CpuStats];
  return {
    MemoryStats: {
      RSS: ma.RSS + mb.RSS,
      Cache: ma.Cache + mb.Cache,
      Swap: ma.Swap + mb.Swap,
      MappedFile: ma.MappedFile + mb.MappedFile,
      Usage: ma.Usage + mb.Usage,
      MaxUsage: ma.MaxUsage + mb.MaxUsage,
      KernelUsage: ma.KernelUsage + mb.KernelUsage,
      KernelMaxUsage: ma.KernelMaxUsage + mb.KernelMaxUsage,
      Measured: union(ma.Measured, mb.Measured),
    },
    CpuStats: {
      SystemMode: ca.SystemMode + cb.SystemMode,
      UserMode: ca.UserMode + cb.UserMode,
      TotalTicks: ca.TotalTicks + cb.TotalTicks,
      ThrottledPeriods: ca.ThrottledPeriods + cb.ThrottledPeriods,
      ThrottledTime: ca.ThrottledTime + cb.ThrottledTime,
      Percent: ca.Percent + cb.Percent,
      Measured: union(ca.Measured, cb.Measured),
    },
    DeviceStats: [],
  };
}

const union = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])];
