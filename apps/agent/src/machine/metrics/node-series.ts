import {
  type AllocClientStatus,
  type Allocation,
  capacityOf,
  isClientTerminal,
  type Node,
  type TaskState,
  usageOf,
} from '@waybill/model';
import type { HostStats } from '@waybill/rpc';
import { type Labels, METRICS_PREFIX, type Series } from '@waybill/telemetry';

/** MeasuredNode is the part of the node that its metrics use. */
export type MeasuredNode = Pick<
  Node,
  'ID' | 'Datacenter' | 'NodeClass' | 'NodePool' | 'NodeResources' | 'ReservedResources'
> & {
  readonly Status: string;
  readonly SchedulingEligibility: string;
};

/** Returns the labels that distinguish the series of this machine from those of other machines (OP-104). */
export const nodeLabels = (node: MeasuredNode): Labels => ({
  node_id: node.ID,
  datacenter: node.Datacenter,
  node_class: node.NodeClass || 'none',
  node_pool: node.NodePool,
  node_status: node.Status,
  node_scheduling_eligibility: node.SchedulingEligibility,
});

/** Returns the series `client.<family>.<name>` for each value. */
const seriesOf = (name: string, values: Readonly<Record<string, number>>, labels: Labels): Series[] =>
  Object.entries(values).map(([key, value]) => ({ name: `${METRICS_PREFIX}client.${name}.${key}`, labels, value }));

/** Returns the series of the machine's use: bytes, percent, MHz, seconds. */
export function hostSeries({ Memory, CPU, DiskStats, Uptime }: HostStats, labels: Labels): Series[] {
  const memory = { total: Memory.Total, available: Memory.Available, used: Memory.Used, free: Memory.Free };
  const cores = CPU.flatMap((core) =>
    seriesOf(
      'host.cpu',
      {
        total: core.TotalPercent,
        total_percent: core.TotalPercent,
        total_ticks: core.TotalTicks,
        user: core.User,
        idle: core.Idle,
        system: core.System,
      },
      { ...labels, cpu: core.CPU },
    ),
  );
  const disks = DiskStats.flatMap((disk) =>
    seriesOf(
      'host.disk',
      {
        size: disk.Size,
        used: disk.Used,
        available: disk.Available,
        used_percent: disk.UsedPercent,
        inodes_percent: disk.InodesUsedPercent,
      },
      { ...labels, disk: disk.Device },
    ),
  );
  const uptime = { name: `${METRICS_PREFIX}client.uptime`, labels, value: Uptime };
  return [...seriesOf('host.memory', memory, labels), ...cores, ...disks, uptime];
}

/** CountedAllocation is one allocation on this machine, as far as metrics count it. */
export interface CountedAllocation {
  readonly alloc: Allocation;
  readonly status: AllocClientStatus;
  /** Why its tasks may not start yet; null if they may. */
  readonly waitsFor: 'predecessors' | 'disk' | null;
  readonly tasks: Readonly<Record<string, TaskState>>;
}

/** Counts the allocations and tasks on this machine by their status. Cost: O(tasks here). */
export function standingSeries(allocs: readonly CountedAllocation[], labels: Labels): Series[] {
  const allocations = { migrating: 0, blocked: 0, pending: 0, running: 0, terminal: 0 };
  const tasks = { pending: 0, running: 0, dead: 0 };
  for (const one of allocs) {
    const standing = standingOf(one);
    if (standing) allocations[standing] += 1;
    for (const { State } of Object.values(one.tasks)) tasks[State] += 1;
  }
  return [...seriesOf('allocations', allocations, labels), ...seriesOf('tasks', tasks, labels)];
}

/** An allocation that the servers consider unknown still has its local status here. */
function standingOf({ status, waitsFor }: CountedAllocation) {
  if (isClientTerminal({ ClientStatus: status })) return 'terminal';
  if (status !== 'pending') return 'running';
  if (waitsFor === 'predecessors') return 'blocked';
  return waitsFor === 'disk' ? 'migrating' : 'pending';
}

/**
 * Returns the resources that non-terminal allocations take, and the rest of the machine: MHz, MiB. Cost: O(tasks here).
 */
export function loadSeries(node: MeasuredNode, allocs: readonly CountedAllocation[], labels: Labels): Series[] {
  const taken = { cpu: 0, memory: 0, max_memory: 0, disk: 0 };
  for (const { alloc, status } of allocs) {
    if (isClientTerminal({ ClientStatus: status })) continue;
    const { cpuMhz, memoryMB, diskMB } = usageOf(alloc.AllocatedResources);
    taken.cpu += cpuMhz;
    taken.memory += memoryMB;
    taken.max_memory += mostMemoryMB(alloc);
    taken.disk += diskMB;
  }
  const capacity = capacityOf(node);
  const left = {
    cpu: capacity.cpuMhz - taken.cpu,
    memory: capacity.memoryMB - taken.memory,
    disk: capacity.diskMB - taken.disk,
  };
  return [...seriesOf('allocated', taken, labels), ...seriesOf('unallocated', left, labels)];
}

/** Tasks with a higher memory limit count with that limit (memory oversubscription). */
const mostMemoryMB = ({ AllocatedResources }: Allocation): number =>
  Object.values(AllocatedResources.Tasks).reduce(
    (sum, { Memory }) => sum + Math.max(Memory.MemoryMB, Memory.MemoryMaxMB),
    0,
  );
