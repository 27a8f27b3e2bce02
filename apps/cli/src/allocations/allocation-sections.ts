import type { AllocCheckStatus, Service } from '@waybill/model';
import { formatDuration } from '@waybill/model/duration';
import type { Display } from '../terminal/display.js';
import { runDeadline } from './run-deadline.js';
import { keyValues, table } from '../terminal/table.js';
import type { AllocationAnswer } from './task-sections.js';

export interface TitledTable {
  readonly title: string;
  readonly text: string;
}

type Rows = readonly (readonly [string, string])[];

/**
 * @param rescheduleTime when a failed allocation will be replaced, in unix ns; undefined if that is not planned
 * (CL-402)
 */
export function allocationList(alloc: AllocationAnswer, display: Display, rescheduleTime: number | undefined): string {
  return keyValues([
    ['ID', alloc.ID],
    ['Eval ID', display.id(alloc.EvalID)],
    ['Name', alloc.Name ?? ''],
    ['Node ID', display.id(alloc.NodeID)],
    ['Node Name', alloc.NodeName ?? ''],
    ['Job ID', alloc.JobID ?? ''],
    ['Job Version', alloc.Job ? String(alloc.Job.Version) : ''],
    ['Client Status', alloc.ClientStatus ?? ''],
    ['Client Description', alloc.ClientDescription ?? ''],
    ['Desired Status', alloc.DesiredStatus ?? ''],
    ['Desired Description', alloc.DesiredDescription ?? ''],
    ['Created', display.time(alloc.CreateTime)],
    ['Modified', display.time(alloc.ModifyTime)],
    ...deadlineRow(alloc, display),
    ...deploymentRows(alloc, display),
    ...rescheduleRows(alloc, display, rescheduleTime),
    ...(display.verbose ? placementRows(alloc) : []),
  ]);
}

export function deadlineRow(alloc: AllocationAnswer, display: Display): Rows {
  const deadline = runDeadline(alloc);
  return deadline === undefined ? [] : [['Max Run Deadline', display.time(deadline)]];
}

function deploymentRows({ DeploymentID, DeploymentStatus }: AllocationAnswer, display: Display): Rows {
  const healthy = DeploymentStatus?.Healthy;
  const health = healthy === true ? 'healthy' : healthy === false ? 'unhealthy' : 'unset';
  return [
    ...(DeploymentID
      ? ([
          ['Deployment ID', display.id(DeploymentID)],
          ['Deployment Health', health],
        ] as const)
      : []),
    ...(DeploymentStatus?.Canary === true ? [['Canary', 'true'] as const] : []),
  ];
}

function rescheduleRows(alloc: AllocationAnswer, display: Display, rescheduleTime: number | undefined): Rows {
  const attempts = rescheduleAttempts(alloc);
  return [
    ...(attempts === undefined ? [] : [['Reschedule Attempts', attempts] as const]),
    ...(alloc.NextAllocation ? [['Replacement Alloc ID', display.id(alloc.NextAllocation)] as const] : []),
    ...(rescheduleTime === undefined ? [] : [['Reschedule Eligibility', display.time(rescheduleTime)] as const]),
  ];
}

/** Returns `<n>/<limit>`, or undefined if there were no attempts or no limit applies (CL-402). */
function rescheduleAttempts({ Job: job, TaskGroup, RescheduleTracker, ModifyTime = 0 }: AllocationAnswer) {
  const events = RescheduleTracker?.Events ?? [];
  const policy = job?.TaskGroups.find(({ Name }) => Name === TaskGroup)?.ReschedulePolicy;
  if (events.length === 0 || !policy || policy.Unlimited || policy.Attempts === 0) return undefined;
  const recent = events.filter(({ RescheduleTime }) => ModifyTime - RescheduleTime < policy.Interval);
  return `${recent.length}/${policy.Attempts}`;
}

function placementRows({ Metrics: metrics }: AllocationAnswer): Rows {
  if (!metrics) return [];
  return [
    ['Evaluated Nodes', String(metrics.NodesEvaluated ?? 0)],
    ['Filtered Nodes', String(metrics.NodesFiltered ?? 0)],
    ['Exhausted Nodes', String(metrics.NodesExhausted ?? 0)],
    ['Allocation Time', formatDuration(metrics.AllocationTime ?? 0)],
    ['Failures', String(metrics.CoalescedFailures ?? 0)],
  ];
}

/** Lists the ports of the group's network, or returns undefined if it has no network (CL-403). */
export function addressSection({ AllocatedResources }: AllocationAnswer): TitledTable | undefined {
  const shared = AllocatedResources?.Shared;
  const ports = shared?.Ports ?? [];
  if (ports.length === 0) return undefined;
  const [network] = shared?.Networks ?? [];
  const reserved = new Set((network?.ReservedPorts ?? []).map((port) => port.Label));
  const mode = network?.Mode ? ` (mode = "${network.Mode}")` : '';
  const rows = ports.map((port) => [
    `*${port.Label ?? ''}`,
    reserved.has(port.Label) ? 'no' : 'yes',
    `${port.HostIP ?? ''}:${port.Value ?? 0}${(port.To ?? 0) > 0 ? ` -> ${port.To}` : ''}`,
  ]);
  return { title: `Allocation Addresses${mode}:`, text: table([['Label', 'Dynamic', 'Address'], ...rows]) };
}

/** Whether the allocation can have results of checks. */
export function hasChecks({ Job: job, TaskGroup }: AllocationAnswer): boolean {
  const group = job?.TaskGroups.find(({ Name }) => Name === TaskGroup);
  const services = [...(group?.Services ?? []), ...(group?.Tasks ?? []).flatMap((task) => task.Services ?? [])];
  return services.some(({ Provider, Checks }: Service) => Provider === 'nomad' && (Checks ?? []).length > 0);
}

/** Shows the service checks, sorted, with `(group)` for a check of the group (CL-404). */
export function checkSection(checks: readonly AllocCheckStatus[]): TitledTable {
  const rows = checks
    .map(({ Service: service, Task, Check, Mode, Status }) => [service, Task || '(group)', Check, Mode, Status])
    .toSorted((a, b) => compare(a.join('\0'), b.join('\0')));
  return {
    title: 'Nomad Service Checks:',
    text: table([['Service', 'Task', 'Name', 'Mode', 'Status'], ...rows]),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
