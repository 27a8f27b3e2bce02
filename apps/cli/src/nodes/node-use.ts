import { BYTES_PER_MB, type NodeAnswer } from './node-sections.js';
import type { DeviceGroupStats } from './node-devices.js';
import { formatBytes, formatPercent } from '../terminal/sizes.js';
import { keyValues, table } from '../terminal/table.js';
import type { AllocationStats } from '../allocations/task-sections.js';

/** The members of a machine's statistics that this program reads, in bytes and MHz. */
export interface HostStats {
  readonly CPUTicksConsumed?: number;
  readonly CPU?: readonly HostCpu[] | null;
  readonly Memory?: HostMemory | null;
  readonly DiskStats?: readonly HostDisk[] | null;
  readonly DeviceStats?: readonly DeviceGroupStats[] | null;
}

/** In percent. */
interface HostCpu {
  readonly CPU?: string;
  readonly User?: number;
  readonly System?: number;
  readonly Idle?: number;
}
interface HostMemory {
  readonly Total?: number;
  readonly Available?: number;
  readonly Used?: number;
  readonly Free?: number;
}
interface HostDisk {
  readonly Device?: string;
  readonly Mountpoint?: string;
  readonly Size?: number;
  readonly Used?: number;
  readonly Available?: number;
  readonly UsedPercent?: number;
  readonly InodesUsedPercent?: number;
}

const percent = (value: number | undefined): string => formatPercent(value ?? 0);
const bytes = (value: number | undefined): string => formatBytes(value ?? 0);

/** Lists the measured use of each CPU, the memory and the disks (CL-505, `-stats`). */
export function hostDetails({ CPU, Memory, DiskStats }: HostStats): [title: string, text: string][] {
  const cores = (CPU ?? []).map((core) =>
    keyValues([
      ['CPU', core.CPU ?? ''],
      ['User', percent(core.User)],
      ['System', percent(core.System)],
      ['Idle', percent(core.Idle)],
    ]),
  );
  const disks = (DiskStats ?? []).map((disk) =>
    keyValues([
      ['Device', disk.Device ?? ''],
      ['MountPoint', disk.Mountpoint ?? ''],
      ['Size', bytes(disk.Size)],
      ['Used', bytes(disk.Used)],
      ['Available', bytes(disk.Available)],
      ['Used Percent', percent(disk.UsedPercent)],
      ['Inodes Percent', percent(disk.InodesUsedPercent)],
    ]),
  );
  const memory = keyValues([
    ['Total', bytes(Memory?.Total)],
    ['Available', bytes(Memory?.Available)],
    ['Used', bytes(Memory?.Used)],
    ['Free', bytes(Memory?.Free)],
  ]);
  return [
    ['CPU Stats', cores.join('\n\n')],
    ['Memory Stats', memory],
    ['Disk Stats', disks.join('\n\n')],
  ];
}

/** Compares the use of the whole machine with its total resources, including reserved ones (CL-506). */
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

/** Compares the use of all running allocations with the node's unreserved resources (CL-506). */
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
