import { BYTES_PER_MB, type NodeAnswer } from './node-sections.js';
import { formatBytes } from './sizes.js';
import { table } from './table.js';
import type { AllocationStats } from './task-sections.js';

/** Answer of the machine's statistics, as far as it is read. Bytes and MHz. */
export interface HostStats {
  readonly CPUTicksConsumed?: number;
  readonly Memory?: { readonly Total?: number; readonly Used?: number } | null;
  readonly DiskStats?: readonly { readonly Device?: string; readonly Size?: number; readonly Used?: number }[] | null;
}

/** What the machine as a whole uses of what it has, nothing reserved taken off (CL-506). */
export function hostUse(node: NodeAnswer, stats: HostStats): string {
  const volume = node.Attributes?.['unique.storage.volume'] ?? '';
  const disk = (stats.DiskStats ?? []).find(({ Device }) => Device === volume);
  return table([
    ['CPU', 'Memory', 'Disk'],
    [
      `${Math.trunc(stats.CPUTicksConsumed ?? 0)}/${node.NodeResources?.Cpu?.CpuShares ?? 0} MHz`,
      `${formatBytes(stats.Memory?.Used ?? 0)}/${formatBytes(stats.Memory?.Total ?? 0)}`,
      disk ? `${formatBytes(disk.Used ?? 0)}/${formatBytes(disk.Size ?? 0)}` : `(${volume})`,
    ],
  ]);
}

/** What running allocations use, together, of what the node has besides what is reserved (CL-506). */
export function allocationUse(node: NodeAnswer, measured: readonly AllocationStats[]): string {
  let cpuMhz = 0;
  let memoryBytes = 0;
  for (const { Tasks } of measured)
    for (const { ResourceUsage } of Object.values(Tasks ?? {})) {
      cpuMhz += ResourceUsage?.CpuStats?.TotalTicks ?? 0;
      memoryBytes += ResourceUsage?.MemoryStats?.Usage || ResourceUsage?.MemoryStats?.RSS || 0;
    }
  const { NodeResources: has, ReservedResources: reserved } = node;
  const memoryMB = (has?.Memory?.MemoryMB ?? 0) - (reserved?.Memory?.MemoryMB ?? 0);
  return table([
    ['CPU', 'Memory'],
    [
      `${Math.trunc(cpuMhz)}/${(has?.Cpu?.CpuShares ?? 0) - (reserved?.Cpu?.CpuShares ?? 0)} MHz`,
      `${formatBytes(memoryBytes)}/${formatBytes(memoryMB * BYTES_PER_MB)}`,
    ],
  ]);
}
