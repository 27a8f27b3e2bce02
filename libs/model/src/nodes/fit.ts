import { isClientTerminal, type Allocation } from '../evaluations/allocation.js';
import { DeviceIndex, holdsDevices } from './device-index.js';
import { holdsPorts, NetworkIndex } from './network-index.js';
import type { Node } from './node.js';
import type { AllocatedResources, AllocatedTaskResources } from './resources.js';

/** CPU is in MHz, memory and disk are in MB. */
export interface Amounts {
  cpuMhz: number;
  memoryMB: number;
  diskMB: number;
}

/** Resources that one allocation takes from its node. */
export interface AllocUsage extends Amounts {
  /** IDs of the cores that are reserved for it. */
  readonly cores: readonly number[];
}

/**
 * Sum of the resources that allocations take from one node. It is updated for each allocation, so that no code has to
 * walk over all of them.
 */
export interface NodeLoad extends Amounts {
  allocs: number;
  /**
   * Number of allocations that hold exclusive resources: ports, cores, devices. A sum cannot show whether these
   * collide.
   */
  claimants: number;
}

/** Whether allocations fit a node together, and otherwise the first exhausted dimension (SC-103, EB-249). */
export interface Fit {
  readonly fits: boolean;
  /** Empty if the allocations fit. */
  readonly dimension: string;
  readonly used: Amounts;
}

/** Returns the resources of a node for allocations: total minus reserved (SC-99). */
export function capacityOf(node: Pick<Node, 'NodeResources' | 'ReservedResources'>): Amounts {
  const { NodeResources: total, ReservedResources: reserved } = node;
  return {
    cpuMhz: total.Cpu.CpuShares - reserved.Cpu.CpuShares,
    memoryMB: total.Memory.MemoryMB - reserved.Memory.MemoryMB,
    diskMB: total.Disk.DiskMB - reserved.Disk.DiskMB,
  };
}

/**
 * Returns the resources that an allocation is charged for (SC-100, SC-101). Tasks that never run at the same time share
 * CPU and memory, so the charge is the largest sum of the tasks before, during and after the main tasks. Tasks with
 * reserved cores always add their MHz.
 */
export function usageOf(resources: AllocatedResources): AllocUsage {
  // Runs for every allocation of every node of every plan, so it adds plain sums and allocates no memory in the common
  // case.
  const before = zero();
  const during = zero();
  const after = zero();
  let cores: readonly number[] = NO_CORES;
  let coresMhz = 0;
  for (const name of Object.keys(resources.Tasks)) {
    const task = resources.Tasks[name];
    if (!task) continue;
    const reserved = task.Cpu.ReservedCores;
    const hasCores = reserved !== null && reserved !== undefined && reserved.length > 0;
    if (hasCores) {
      cores = cores.length === 0 ? reserved : [...cores, ...reserved];
      coresMhz += task.Cpu.CpuShares;
    }
    const lifecycle = resources.TaskLifecycles[name];
    if (lifecycle?.Hook === 'prestart') {
      add(before, task, !hasCores);
      if (lifecycle.Sidecar) add(during, task, !hasCores);
    } else add(lifecycle?.Hook === 'poststop' ? after : during, task, !hasCores);
  }
  return {
    cpuMhz: Math.max(before.cpuMhz, during.cpuMhz, after.cpuMhz) + coresMhz,
    memoryMB: Math.max(before.memoryMB, during.memoryMB, after.memoryMB),
    diskMB: resources.Shared.DiskMB,
    cores,
  };
}

/**
 * Whether these allocations fit the node together. Client-terminal ones take nothing. The scheduler calls it to choose
 * a node, and the plan applier calls it again before it commits (SC-106). Cost: O(tasks, ports and devices of the
 * allocations).
 */
export function allocsFit(node: Node, allocs: Iterable<Allocation>): Fit {
  const used = zero();
  const cores = new Set<number>();
  const live: Allocation[] = [];
  let coreTwice = false;
  for (const alloc of allocs) {
    if (isClientTerminal(alloc)) continue;
    live.push(alloc);
    const usage = usageOf(alloc.AllocatedResources);
    used.cpuMhz += usage.cpuMhz;
    used.memoryMB += usage.memoryMB;
    used.diskMB += usage.diskMB;
    for (const core of usage.cores) {
      coreTwice ||= cores.has(core);
      cores.add(core);
    }
  }
  const dimension =
    exhaustedDimension(node, used, live.length, coreTwice ? 'held twice' : cores) ??
    portCollision(node, live) ??
    (deviceTwice(live) ? 'device oversubscribed' : '');
  return { fits: dimension === '', dimension, used };
}

export const emptyLoad = (): NodeLoad => ({ ...zero(), allocs: 0, claimants: 0 });

/**
 * Adds an allocation to a load or removes it. Client-terminal allocations count nothing.
 * @param sign 1 to add, -1 to remove
 */
export function charge(load: NodeLoad, alloc: Allocation, sign: 1 | -1 = 1): void {
  if (isClientTerminal(alloc)) return;
  const usage = usageOf(alloc.AllocatedResources);
  load.cpuMhz += sign * usage.cpuMhz;
  load.memoryMB += sign * usage.memoryMB;
  load.diskMB += sign * usage.diskMB;
  load.allocs += sign;
  if (usage.cores.length > 0 || holdsPorts(alloc) || holdsDevices(alloc)) load.claimants += sign;
}

/** Like `allocsFit`, for a load without claimants. The cost depends on the node alone. */
export function loadFits(node: Node, load: NodeLoad): Fit {
  const dimension = exhaustedDimension(node, load, load.allocs, NO_CORES_TAKEN) ?? portCollision(node, []) ?? '';
  return { fits: dimension === '', dimension, used: load };
}

/** @param cores the cores that the allocations hold, or `held twice` if two allocations hold the same core */
function exhaustedDimension(
  node: Node,
  used: Amounts,
  allocCount: number,
  cores: ReadonlySet<number> | 'held twice',
): string | undefined {
  const capacity = capacityOf(node);
  if (node.NodeMaxAllocs > 0 && allocCount > node.NodeMaxAllocs) return 'max allocation exceeded';
  if (cores === 'held twice') return 'cores';
  if (used.cpuMhz > capacity.cpuMhz) return 'cpu';
  if (!usableCores(node, cores)) return 'cores';
  if (used.memoryMB > capacity.memoryMB) return 'memory';
  if (used.diskMB > capacity.diskMB) return 'disk';
  return undefined;
}

function usableCores(node: Node, cores: ReadonlySet<number>): boolean {
  if (cores.size === 0) return true;
  const reserved = new Set(node.ReservedResources.Cpu.ReservedCpuCores ?? []);
  const usable = new Set((node.NodeResources.Cpu.ReservableCpuCores ?? []).filter((core) => !reserved.has(core)));
  return [...cores].every((core) => usable.has(core));
}

function portCollision(node: Node, allocs: readonly Allocation[]): string | undefined {
  const index = NetworkIndex.ofNode(node);
  if (index.invalid) return `reserved node port collision: ${index.invalid}`;
  for (const alloc of allocs) {
    const taken = index.addAllocation(alloc);
    if (taken) return `reserved alloc port collision: ${taken}`;
  }
  return undefined;
}

function deviceTwice(allocs: readonly Allocation[]): boolean {
  const index = new DeviceIndex();
  return allocs.some((alloc) => !index.addAllocation(alloc));
}

function add(sum: Amounts, task: AllocatedTaskResources, withCpu: boolean): void {
  if (withCpu) sum.cpuMhz += task.Cpu.CpuShares;
  sum.memoryMB += task.Memory.MemoryMB;
}

const NO_CORES: readonly number[] = [];
const NO_CORES_TAKEN: ReadonlySet<number> = new Set();
const zero = (): Amounts => ({ cpuMhz: 0, memoryMB: 0, diskMB: 0 });
