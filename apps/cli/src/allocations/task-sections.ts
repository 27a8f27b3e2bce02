import type { Allocation, TaskLifecycle, TaskState } from '@waybill/model';
import { displayMessage } from '@waybill/model/task-event';
import type { DeviceGroupStats } from '../nodes/node-devices.js';
import { formatBytes } from '../terminal/sizes.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { keyValues, table } from '../terminal/table.js';
import { absoluteTime, msOf } from '../terminal/times.js';

const BYTES_PER_MB = 1024 * 1024;

/** An allocation in a response, without members that are zero (API-17). */
export type AllocationAnswer = Pick<Allocation, 'ID'> & Partial<Omit<Allocation, 'ID'>>;

/** Resources that a running task uses, in bytes and MHz. */
export interface TaskUsage {
  readonly cpuMhz: number;
  readonly memoryBytes: number;
}

/** Values by name, and the names of the measured ones. */
export interface Measurements {
  readonly Measured?: readonly string[] | null;
  readonly [value: string]: unknown;
}

/** The members of an allocation's statistics that this program reads. */
export interface AllocationStats {
  readonly Tasks?: Readonly<
    Record<
      string,
      {
        readonly ResourceUsage?: {
          readonly CpuStats?: Measurements & { readonly TotalTicks?: number; readonly Percent?: number };
          readonly MemoryStats?: Measurements & { readonly RSS?: number; readonly Usage?: number };
          readonly DeviceStats?: readonly DeviceGroupStats[] | null;
        };
      }
    >
  > | null;
}

/**
 * Returns the resources that a task uses. Its memory is the resident memory, or all memory if that was not measured
 * (CL-408).
 */
export function usageOf(stats: AllocationStats | undefined, task: string): TaskUsage | undefined {
  const usage = stats?.Tasks?.[task]?.ResourceUsage;
  if (!usage) return undefined;
  const { RSS = 0, Usage = 0, Measured } = usage.MemoryStats ?? {};
  const memoryBytes = RSS === 0 && !(Measured ?? []).includes('RSS') ? Usage : RSS;
  return { cpuMhz: Math.trunc(usage.CpuStats?.TotalTicks ?? 0), memoryBytes };
}

export const lifecycleOf = (alloc: AllocationAnswer, task: string): TaskLifecycle | undefined =>
  alloc.AllocatedResources?.TaskLifecycles?.[task] ?? undefined;

/**
 * Returns the tasks in display order: prestart and poststop tasks, sidecars, main tasks, and by name within each
 * (CL-406).
 */
export function orderedTasks(alloc: AllocationAnswer): [string, TaskState][] {
  const rank = (task: string) => {
    const lifecycle = lifecycleOf(alloc, task);
    return lifecycle ? (lifecycle.Sidecar ? 1 : 0) : 2;
  };
  return sortedEntries(alloc.TaskStates).toSorted(([a], [b]) => rank(a) - rank(b));
}

/** Returns the suffix of a task's name, such as ` (prestart sidecar)` (CL-406). */
export function lifecycleMark(lifecycle: TaskLifecycle | undefined): string {
  return lifecycle ? ` (${lifecycle.Hook}${lifecycle.Sidecar ? ' sidecar' : ''})` : '';
}

/** Returns a cell such as `prestart sidecar` or `main` (CL-409). */
export const lifecycleCell = (lifecycle: TaskLifecycle | undefined): string =>
  lifecycle ? `${lifecycle.Hook}${lifecycle.Sidecar ? ' sidecar' : ''}` : 'main';

/**
 * Shows used and requested resources of a task, with blanks for empty cells (CL-406). Returns undefined if the
 * allocation does not contain the request.
 */
export function taskResources(alloc: AllocationAnswer, task: string, usage: TaskUsage | undefined): string | undefined {
  const asked = alloc.AllocatedResources?.Tasks?.[task];
  if (!asked) return undefined;
  const cores = asked.Cpu?.ReservedCores?.length ?? 0;
  const MemoryMB = asked.Memory?.MemoryMB ?? 0;
  const MemoryMaxMB = asked.Memory?.MemoryMaxMB ?? 0;
  const memory = formatBytes(MemoryMB * BYTES_PER_MB);
  const disk = formatBytes((alloc.AllocatedResources?.Shared?.DiskMB ?? 0) * BYTES_PER_MB);
  const addresses = (asked.Networks ?? []).flatMap((network) =>
    [...(network.DynamicPorts ?? []), ...(network.ReservedPorts ?? [])].map(
      (port) => `${port.Label}: ${network.IP}:${port.Value}`,
    ),
  );
  const max = MemoryMaxMB !== 0 && MemoryMaxMB !== MemoryMB ? [`Max: ${formatBytes(MemoryMaxMB * BYTES_PER_MB)}`] : [];
  const more = Array.from({ length: Math.max(max.length, addresses.length - 1) }, (_, i) => [
    '',
    max[i] ?? '',
    '',
    addresses[i + 1] ?? '',
  ]);
  return table(
    [
      [cores > 0 ? `CPU (${cores} cores)` : 'CPU', 'Memory', 'Disk', 'Addresses'],
      [
        `${usage ? `${usage.cpuMhz}/` : ''}${asked.Cpu?.CpuShares ?? 0} MHz`,
        `${usage ? `${formatBytes(usage.memoryBytes)}/` : ''}${memory}`,
        disk,
        addresses[0] ?? '',
      ],
      ...more,
    ],
    '',
  );
}

/** Shows the times of a task and its restarts, with `N/A` for a time that is zero (CL-407). */
export function taskTimes(state: TaskState): string {
  const time = (at: string | null | undefined) => absoluteTime(at) || 'N/A';
  return keyValues([
    ['Started At', time(state.StartedAt)],
    ['Finished At', time(state.FinishedAt)],
    ['Total Restarts', String(state.Restarts ?? 0)],
    ['Last Restart', time(state.LastRestart)],
  ]);
}

/** Lists the events of a task, newest first (CL-407). */
export function taskEvents(state: TaskState): string {
  const events = (state.Events ?? []).toSorted((a, b) => (msOf(b.Time) ?? 0) - (msOf(a.Time) ?? 0));
  return table([
    ['Time', 'Type', 'Description'],
    ...events.map((event) => [
      absoluteTime(event.Time),
      event.Type,
      displayMessage({
        ...event,
        Message: event.Message ?? '',
        DisplayMessage: event.DisplayMessage ?? '',
        Details: event.Details ?? {},
      }),
    ]),
  ]);
}
