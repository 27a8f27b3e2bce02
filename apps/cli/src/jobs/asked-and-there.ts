import type { Job, NodeListStub, Task, TaskGroup } from '@waybill/model';
import type { Metrics } from './placement-metrics.js';

/** Of the list of machines: what decides whether one could take the work. */
type Machine = Pick<NodeListStub, 'NodePool' | 'Status' | 'Drivers' | 'NodeResources' | 'ReservedResources'>;

/** Of a group: what it asks for. */
type Asking = Pick<TaskGroup, 'EphemeralDisk'> & {
  readonly Tasks: readonly Pick<Task, 'Driver' | 'Resources' | 'Lifecycle'>[];
};

interface Dimension {
  readonly unit: string;
  readonly asked: (group: Asking) => number;
  readonly there: (machine: Machine) => number;
}

const DIMENSIONS: Readonly<Record<string, Dimension>> = {
  cpu: {
    unit: 'MHz',
    asked: ({ Tasks }) => Tasks.reduce((sum, { Resources }) => sum + Resources.CPU, 0),
    there: (one) => (one.NodeResources?.Cpu.CpuShares ?? 0) - (one.ReservedResources?.Cpu.CpuShares ?? 0),
  },
  memory: {
    unit: 'MiB',
    asked: ({ Tasks }) => Tasks.reduce((sum, { Resources }) => sum + Resources.MemoryMB, 0),
    there: (one) => (one.NodeResources?.Memory.MemoryMB ?? 0) - (one.ReservedResources?.Memory.MemoryMB ?? 0),
  },
  disk: {
    unit: 'MiB',
    asked: ({ EphemeralDisk }) => EphemeralDisk.SizeMB,
    there: (one) => (one.NodeResources?.Disk.DiskMB ?? 0) - (one.ReservedResources?.Disk.DiskMB ?? 0),
  },
};

const MISSING_DRIVERS = 'missing drivers';

/**
 * What a group that could not be placed asks for, and what the machines of its pool have: a bullet each, beside the
 * contract's bullets (CL-221), which only count machines. Cost: looks at every machine.
 */
export function askedAndThere(
  metrics: Metrics,
  { NodePool: pool }: Pick<Job, 'NodePool'>,
  group: Asking,
  all: readonly Machine[],
): string[] {
  const machines = all.filter((one) => one.Status === 'ready' && (pool === 'all' || one.NodePool === pool));
  if (machines.length === 0) return [];
  const drivers = (metrics.ConstraintFiltered?.[MISSING_DRIVERS] ?? 0) > 0 ? missingDrivers(group, machines) : [];
  // Tasks with a lifecycle do not all run at once: their sum would claim too much.
  if (group.Tasks.some(({ Lifecycle }) => Lifecycle)) return drivers;
  const exhausted = Object.entries(DIMENSIONS).filter(([name]) => (metrics.DimensionExhausted?.[name] ?? 0) > 0);
  return [...drivers, ...exhausted.map(([name, dimension]) => shortage(name, dimension, group, machines))];
}

function shortage(
  name: string,
  { unit, asked, there }: Dimension,
  group: Asking,
  machines: readonly Machine[],
): string {
  const most = Math.max(...machines.map(there));
  const taken = asked(group) <= most ? ', and other work holds part of it' : '';
  return `* ${name}: asked ${asked(group)} ${unit}, the largest node has ${most} ${unit}${taken}`;
}

function missingDrivers({ Tasks }: Asking, machines: readonly Machine[]): string[] {
  return [...new Set(Tasks.map(({ Driver }) => Driver))].toSorted().flatMap((driver) => {
    const on = machines.filter(({ Drivers }) => Drivers[driver]?.Detected && Drivers[driver].Healthy).length;
    return on === machines.length ? [] : [`* driver "${driver}" is on ${on || 'none'} of ${machines.length} nodes`];
  });
}
