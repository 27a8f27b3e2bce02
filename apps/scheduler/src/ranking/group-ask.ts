import {
  usageOf,
  type AllocatedPort,
  type AllocatedResources,
  type Allocation,
  type AllocUsage,
  type NetworkResource,
  type Node,
  type TaskGroup,
} from '@waybill/model';
import type { DeviceAsk } from './device-assignment.js';

/**
 * The resources that an allocation of a group needs on any node, without ports, devices and cores. Computed once for
 * each attempt.
 */
export interface GroupAsk {
  readonly group: TaskGroup;
  /** Name of the allocation to place; "" if all allocations of the group need the same. */
  readonly allocName: string;
  readonly resources: AllocatedResources;
  readonly usage: AllocUsage;
  /** Number of cores of all tasks. */
  readonly cores: number;
  /** The network whose ports are assigned, if any; only the first one counts (SC-89). */
  readonly network: NetworkResource | undefined;
  /** The networks that single tasks of old jobs ask for, in the order of the tasks (SC-89). */
  readonly taskNetworks: readonly TaskNetworkAsk[];
  /** In the order of the tasks. */
  readonly devices: readonly DeviceAsk[];
}

export interface TaskNetworkAsk {
  readonly task: string;
  readonly network: NetworkResource;
}

export function askOf(group: TaskGroup, memoryOversubscription: boolean): GroupAsk {
  const resources: AllocatedResources = {
    Tasks: Object.fromEntries(
      group.Tasks.map(({ Name, Resources: r }) => [
        Name,
        {
          Cpu: { CpuShares: r.Cores > 0 ? 0 : r.CPU, ReservedCores: null },
          Memory: {
            MemoryMB: r.MemoryMB + r.SecretsMB,
            MemoryMaxMB: memoryOversubscription ? maxMemory(r.MemoryMaxMB, r.SecretsMB) : 0,
          },
          Networks: null,
          Devices: null,
        },
      ]),
    ),
    TaskLifecycles: Object.fromEntries(group.Tasks.map(({ Name, Lifecycle }) => [Name, Lifecycle])),
    Shared: { Networks: null, DiskMB: group.EphemeralDisk.SizeMB, Ports: null },
  };
  const network = group.Networks?.[0];
  return {
    group,
    allocName: '',
    resources,
    usage: usageOf(resources),
    cores: group.Tasks.reduce((sum, task) => sum + task.Resources.Cores, 0),
    network,
    taskNetworks: group.Tasks.flatMap(({ Name, Resources: { Networks } }) =>
      Networks?.[0] ? [{ task: Name, network: Networks[0] }] : [],
    ),
    devices: devicesAskedBy(group),
  };
}

export function devicesAskedBy(group: TaskGroup): DeviceAsk[] {
  return group.Tasks.flatMap(({ Name, Resources }) =>
    (Resources.Devices ?? []).map((request) => ({ task: Name, request })),
  );
}

/** The memory limit of the group (SC-105). */
function maxMemory(memoryMaxMB: number, secretsMB: number): number {
  if (memoryMaxMB === -1) return -1;
  return memoryMaxMB > 0 ? memoryMaxMB + secretsMB : 0;
}

/** The resources with the ports that were assigned on a node (SC-88). */
export function withPorts(
  resources: AllocatedResources,
  ports: AllocatedPort[],
  network: NetworkResource,
): AllocatedResources {
  return { ...resources, Shared: { ...resources.Shared, Networks: [network], Ports: ports } };
}

/** The resources with the network that was assigned to one task (SC-89). */
export function withTaskNetwork(
  resources: AllocatedResources,
  task: string,
  network: NetworkResource,
): AllocatedResources {
  const before = resources.Tasks[task];
  if (!before) return resources;
  return { ...resources, Tasks: { ...resources.Tasks, [task]: { ...before, Networks: [network] } } };
}

/**
 * The resources with cores: each task gets the lowest free cores, and their MHz. Undefined: there are too few (SC-102).
 */
export function withCores(
  ask: GroupAsk,
  resources: AllocatedResources,
  node: Node,
  proposed: readonly Allocation[],
): AllocatedResources | undefined {
  const taken = new Set(node.ReservedResources.Cpu.ReservedCpuCores);
  for (const alloc of proposed) for (const core of usageOf(alloc.AllocatedResources).cores) taken.add(core);
  const { ReservableCpuCores, TotalCpuCores, CpuShares } = node.NodeResources.Cpu;
  const free = (ReservableCpuCores ?? []).filter((core) => !taken.has(core)).toSorted((a, b) => a - b);
  if (free.length < ask.cores) return undefined;
  const mhzPerCore = TotalCpuCores > 0 ? Math.floor(CpuShares / TotalCpuCores) : 0;
  const tasks = { ...resources.Tasks };
  for (const { Name, Resources } of ask.group.Tasks) {
    const task = tasks[Name];
    if (Resources.Cores === 0 || !task) continue;
    const cores = free.splice(0, Resources.Cores);
    tasks[Name] = { ...task, Cpu: { CpuShares: cores.length * mhzPerCore, ReservedCores: cores } };
  }
  return { ...resources, Tasks: tasks };
}
