import type { Allocation, DrainStrategy, Node, NodeEvent } from '@waybill/model';
import { formatBytes } from '../terminal/sizes.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { keyValues, table } from '../terminal/table.js';
import { absoluteTime, msOf } from '../terminal/times.js';

export const BYTES_PER_MB = 1024 * 1024;

/** A node in a response. Any member may be absent (CL-1107). */
export type NodeAnswer = Pick<Node, 'ID'> & Partial<Omit<Node, 'ID'>>;
export type NodeAllocation = Pick<Allocation, 'ID'> & Partial<Omit<Allocation, 'ID'>>;

export const isRunning = ({ ClientStatus }: NodeAllocation): boolean => ClientStatus === 'running';

/** Describes whether a node drains, and its deadline (CL-504). */
export function drainText(strategy: DrainStrategy | null | undefined): string {
  if (!strategy) return 'false';
  const ignoring = strategy.IgnoreSystemJobs ? '; ignoring system jobs' : '';
  if (strategy.Deadline < 0) return `true; force drain${ignoring}`;
  if (strategy.Deadline === 0) return `true; no deadline${ignoring}`;
  return `true; ${absoluteTime(strategy.ForceDeadline)} deadline${ignoring}`;
}

/** Lists the properties of a node (CL-503). */
export function nodeKeyValues(
  node: NodeAnswer,
  options: { readonly verbose: boolean; readonly short: boolean },
): string {
  const names = (map: Readonly<Record<string, unknown>> | null | undefined) =>
    sortedEntries(map)
      .map(([name]) => name)
      .join(',');
  return keyValues([
    ['ID', node.ID],
    ['Name', node.Name ?? ''],
    ['Node Pool', node.NodePool ?? ''],
    ['Class', node.NodeClass ?? ''],
    ['DC', node.Datacenter ?? ''],
    ['Drain', drainText(node.DrainStrategy)],
    ['Eligibility', node.SchedulingEligibility ?? ''],
    ['Status', node.Status ?? ''],
    ['CSI Controllers', names(node.CSIControllerPlugins)],
    ['CSI Drivers', names(node.CSINodePlugins)],
    ...(options.verbose
      ? []
      : ([
          ['Host Volumes', names(node.HostVolumes)],
          ['Host Networks', names(node.HostNetworks)],
          ['CSI Volumes', ''],
          ...driverRow(node, options.short),
        ] as const)),
  ]);
}

const driverRow = (node: NodeAnswer, short: boolean): readonly [readonly [string, string]] => [
  short ? ['Drivers', fingerprintedDrivers(node)] : ['Driver Status', driverStatus(node)],
];

function driverStatus(node: NodeAnswer): string {
  return sortedEntries(node.Drivers)
    .filter(([, driver]) => driver.Detected)
    .map(([name, driver]) => `${name}${driver.Healthy ? '' : ' (unhealthy)'}`)
    .join(',');
}

function fingerprintedDrivers(node: NodeAnswer): string {
  return sortedEntries(node.Attributes)
    .flatMap(([name, value]) => (name.startsWith('driver.') && value === '1' ? [name.slice('driver.'.length)] : []))
    .filter((name) => !name.includes('.'))
    .join(',');
}

/** Lists the drivers of a node and their health (CL-505). */
export function driverTable(node: NodeAnswer): string {
  return table([
    ['Driver', 'Detected', 'Healthy', 'Message', 'Time'],
    ...sortedEntries(node.Drivers).map(([name, d]) => [
      name,
      String(d.Detected),
      String(d.Healthy),
      d.HealthDescription ?? '',
      absoluteTime(d.UpdateTime),
    ]),
  ]);
}

/** Lists the events of a node, newest first (CL-505). */
export function nodeEventTable(node: NodeAnswer, verbose: boolean): string {
  const events = (node.Events ?? []).toSorted((a, b) => (msOf(b.Timestamp) ?? 0) - (msOf(a.Timestamp) ?? 0));
  return table([
    ['Time', 'Subsystem', 'Message', ...(verbose ? ['Details'] : [])],
    ...events.map((event) => [
      absoluteTime(event.Timestamp),
      subsystemOf(event),
      event.Message,
      ...(verbose
        ? [
            sortedEntries(event.Details)
              .map(([k, v]) => `${k} = ${v}`)
              .join(', '),
          ]
        : []),
    ]),
  ]);
}

function subsystemOf(event: NodeEvent): string {
  const driver = event.Details?.['driver'];
  return event.Subsystem === 'Driver' && driver ? `Driver: ${driver}` : event.Subsystem;
}

/** Compares the resources assigned to running allocations with the node's unreserved resources (CL-506). */
export function allocatedResources(node: NodeAnswer, allocs: readonly NodeAllocation[]): string | undefined {
  const { NodeResources: has, ReservedResources: reserved } = node;
  if (!has) return undefined;
  const running = allocs.filter(isRunning);
  let cpu = 0;
  let memoryMB = 0;
  let diskMB = 0;
  for (const { AllocatedResources: given } of running) {
    for (const task of Object.values(given?.Tasks ?? {})) {
      cpu += task.Cpu?.CpuShares ?? 0;
      memoryMB += task.Memory?.MemoryMB ?? 0;
    }
    diskMB += given?.Shared?.DiskMB ?? 0;
  }
  const size = (mb: number) => formatBytes(mb * BYTES_PER_MB);
  const max = node.NodeMaxAllocs ?? 0;
  return table([
    ['CPU', 'Memory', 'Disk', 'Alloc Count'],
    [
      `${cpu}/${(has.Cpu?.CpuShares ?? 0) - (reserved?.Cpu?.CpuShares ?? 0)} MHz`,
      `${size(memoryMB)}/${size((has.Memory?.MemoryMB ?? 0) - (reserved?.Memory?.MemoryMB ?? 0))}`,
      `${size(diskMB)}/${size((has.Disk?.DiskMB ?? 0) - (reserved?.Disk?.DiskMB ?? 0))}`,
      max > 0 ? `${running.length}/${max}` : String(running.length),
    ],
  ]);
}

/** Lists attributes or meta, sorted. */
export const sortedList = (map: Readonly<Record<string, string>> | null | undefined): string =>
  keyValues(sortedEntries(map));
