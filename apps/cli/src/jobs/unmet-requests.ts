import type { Node, NodeListStub } from '@waybill/model';
import type { Metrics } from './placement-metrics.js';

/** The members of a machine that decide whether it could take the group. Lists do not contain attributes and meta. */
export type Machine = Pick<NodeListStub, 'NodePool' | 'Status' | 'Drivers' | 'NodeResources' | 'ReservedResources'> &
  Partial<Pick<Node, 'Attributes' | 'Meta'>>;

/** The request of a group, stored or from a job file, where any member may be missing. */
export interface Asking {
  readonly Name: string;
  readonly EphemeralDisk?: { readonly SizeMB?: number | null } | null;
  readonly Tasks?:
    | readonly {
        readonly Driver?: string;
        readonly Resources?: { readonly CPU?: number | null; readonly MemoryMB?: number | null } | null;
        readonly Lifecycle?: unknown;
      }[]
    | null;
}

/** The groups of a job and their pool, stored or from a job file. */
export interface AskingJob {
  readonly NodePool?: string | null;
  readonly TaskGroups?: readonly Asking[] | null;
}

interface Dimension {
  readonly unit: string;
  /** NaN if the file leaves the value to the default. */
  readonly asked: (group: Asking) => number;
  readonly there: (machine: Machine) => number;
}

const DIMENSIONS: Readonly<Record<string, Dimension>> = {
  cpu: {
    unit: 'MHz',
    asked: ({ Tasks }) => sumOf(Tasks, ({ Resources }) => Resources?.CPU),
    there: (one) => (one.NodeResources?.Cpu.CpuShares ?? 0) - (one.ReservedResources?.Cpu.CpuShares ?? 0),
  },
  memory: {
    unit: 'MiB',
    asked: ({ Tasks }) => sumOf(Tasks, ({ Resources }) => Resources?.MemoryMB),
    there: (one) => (one.NodeResources?.Memory.MemoryMB ?? 0) - (one.ReservedResources?.Memory.MemoryMB ?? 0),
  },
  disk: {
    unit: 'MiB',
    asked: ({ EphemeralDisk }) => EphemeralDisk?.SizeMB ?? NaN,
    there: (one) => (one.NodeResources?.Disk.DiskMB ?? 0) - (one.ReservedResources?.Disk.DiskMB ?? 0),
  },
};

const sumOf = <T>(items: readonly T[] | null | undefined, of: (item: T) => number | null | undefined): number =>
  (items ?? []).reduce((sum, item) => sum + (of(item) ?? NaN), 0);

const MISSING_DRIVERS = 'missing drivers';
/** Number of different values of one attribute in a bullet. */
const MAX_VALUES = 3;

/**
 * Compares the request of a group that could not be placed with the machines of its pool. The bullets supplement those
 * of the contract (CL-221), which only count machines. Cost: examines every machine.
 */
export function unmetRequests(
  metrics: Metrics,
  { NodePool }: AskingJob,
  group: Asking,
  all: readonly Machine[],
): string[] {
  const pool = NodePool || 'default';
  const machines = all.filter((one) => one.Status === 'ready' && (pool === 'all' || one.NodePool === pool));
  if (machines.length === 0) return [];
  const drivers = (metrics.ConstraintFiltered?.[MISSING_DRIVERS] ?? 0) > 0 ? missingDrivers(group, machines) : [];
  const bullets = [...drivers, ...unmetAttributes(metrics, machines)];
  // Tasks with a lifecycle do not all run at once, so their sum would be too large.
  if (group.Tasks?.some(({ Lifecycle }) => Lifecycle)) return bullets;
  const exhausted = Object.entries(DIMENSIONS).filter(([name]) => (metrics.DimensionExhausted?.[name] ?? 0) > 0);
  return [...bullets, ...exhausted.flatMap(([name, dimension]) => shortage(name, dimension, group, machines))];
}

/** Whether a constraint on an attribute excluded machines, so that reading single machines would explain it. */
export const asksForAttributes = (metrics: Metrics): boolean => attributesOf(metrics).length > 0;

function shortage(
  name: string,
  { unit, asked, there }: Dimension,
  group: Asking,
  machines: readonly Machine[],
): string[] {
  const wanted = asked(group);
  if (Number.isNaN(wanted)) return [];
  const most = machines.map(there).reduce((highest, count) => Math.max(highest, count), -Infinity);
  const taken = wanted <= most ? ', and other work holds part of it' : '';
  return [`* ${name}: asked ${wanted} ${unit}, the largest node has ${most} ${unit}${taken}`];
}

function missingDrivers({ Tasks }: Asking, machines: readonly Machine[]): string[] {
  return [...new Set((Tasks ?? []).map(({ Driver = '' }) => Driver))].toSorted().flatMap((driver) => {
    const on = machines.filter(({ Drivers }) => Drivers[driver]?.Detected && Drivers[driver].Healthy).length;
    return on === machines.length ? [] : [`* driver "${driver}" is on ${on || 'none'} of ${machines.length} nodes`];
  });
}

interface ComparedAttribute {
  readonly member: 'Attributes' | 'Meta';
  readonly name: string;
}

/** Returns the attributes and meta keys that excluding constraints compare: `${attr.kernel.name} = linux`. */
function attributesOf(metrics: Metrics): ComparedAttribute[] {
  return Object.keys(metrics.ConstraintFiltered ?? {})
    .toSorted()
    .flatMap((constraint): ComparedAttribute[] => {
      const end = constraint.indexOf('}');
      if (end < 0) return [];
      if (constraint.startsWith('${attr.')) return [{ member: 'Attributes', name: constraint.slice(7, end) }];
      if (constraint.startsWith('${meta.')) return [{ member: 'Meta', name: constraint.slice(7, end) }];
      return [];
    });
}

function unmetAttributes(metrics: Metrics, all: readonly Machine[]): string[] {
  const machines = all.filter(({ Attributes }) => Attributes);
  if (machines.length === 0) return [];
  return attributesOf(metrics).map(({ member, name }) => {
    const what = member === 'Meta' ? 'meta' : 'attribute';
    const values = [...new Set(machines.flatMap((one) => one[member]?.[name] ?? []))].toSorted();
    if (values.length === 0) return `* ${what} "${name}" is on none of ${machines.length} nodes`;
    const more = values.length > MAX_VALUES ? ` and ${values.length - MAX_VALUES} more` : '';
    const named = values.slice(0, MAX_VALUES).map((value) => `"${value}"`);
    return `* ${what} "${name}": nodes have ${named.join(', ')}${more}`;
  });
}
