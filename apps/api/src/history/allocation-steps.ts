import type { Allocation, TraceStep } from '@waybill/model';
import type { LoggedTxn } from '@waybill/projection';

/** The number of allocations that are shown unless all are requested (CL-1043). */
const MAX_SLOW = 5;

/** Returns the allocations whose steps are shown: those that took longest, the slowest first (CL-1043). */
export function slowestAllocations(allocs: readonly Allocation[]): Allocation[] {
  const endMs = (alloc: Allocation): number => {
    const started = Object.values(alloc.TaskStates ?? {}).map(({ StartedAt }) => msOf(StartedAt) ?? 0);
    return Math.max(msOf(alloc.DeploymentStatus?.Timestamp) ?? 0, ...started, alloc.CreateTime / 1e6);
  };
  return allocs.toSorted((a, b) => endMs(b) - endMs(a)).slice(0, MAX_SLOW);
}

/** The names of a task's steps on the time line, by the agents' names for them. */
const TASK_STEPS: Readonly<Record<string, string>> = {
  Received: 'received',
  'Task Setup': 'set up',
  Started: 'started',
};

export interface AllocationSteps {
  readonly alloc: Allocation;
  /** The transactions of the allocation, oldest first. */
  readonly txns: readonly LoggedTxn[];
  /** The time of the plan's commit. Nothing of the allocation happened before it, whatever the machine's clock says. */
  readonly plannedNs: number;
  /**
   * Says whether the evaluation made the allocation. If it is false, the allocation existed and is only judged anew.
   */
  readonly isNew: boolean;
}

/** A MachineStep has the times of the machine's clock: it took from `fromNs` to `timeNs`. */
interface MachineStep {
  readonly name: string;
  readonly timeNs: number;
  readonly fromNs: number;
  /** The index of the transaction that reported the step; 0 if there is none. */
  readonly index: number;
  readonly task?: string;
}

/** Returns the first occurrence of each step of each task (CL-1043). */
export function allocationSteps({ alloc, txns, plannedNs, isNew }: AllocationSteps): TraceStep[] {
  const indexOf = (change: RegExp): number =>
    txns.find(({ objects }) => objects.some((object) => object.id === alloc.ID && change.test(object.change)))?.index ??
    0;
  const onMachine = ({ name, timeNs, fromNs, index, task }: MachineStep): TraceStep => ({
    Time: Math.max(fromNs, plannedNs),
    EndTime: timeNs > fromNs ? Math.max(timeNs, plannedNs) : 0,
    Service: 'agent',
    Instance: alloc.NodeID,
    Name: name,
    Index: index,
    ClockSkewed: true,
    Details: { allocation: alloc.ID, ...(task === undefined ? {} : { task }) },
  });
  const steps: TraceStep[] = [];
  let lastStart = 0;
  const tasks = isNew ? Object.entries(alloc.TaskStates ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)) : [];
  for (const [task, { Events }] of tasks) {
    let before = 0;
    for (const [type, name] of Object.entries(TASK_STEPS)) {
      const time = (Events ?? []).find((event) => event.Type === type)?.Time;
      if (time === undefined) continue;
      const index = name === 'started' ? indexOf(/-> running\b/) : 0;
      steps.push(onMachine({ name, timeNs: time, fromNs: before || time, index, task }));
      before = time;
    }
    lastStart = Math.max(lastStart, before);
  }
  const { Healthy, Timestamp, ModifyIndex } = alloc.DeploymentStatus ?? {};
  const judgedMs = msOf(Timestamp);
  if (typeof Healthy === 'boolean' && judgedMs !== undefined)
    steps.push(
      onMachine({
        name: Healthy ? 'healthy' : 'unhealthy',
        timeNs: judgedMs * 1e6,
        fromNs: lastStart || judgedMs * 1e6,
        index: ModifyIndex ?? 0,
      }),
    );
  return steps;
}

/** Returns an agent's time in Unix milliseconds, or undefined if there is none. */
function msOf(time: string | null | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return ms > 0 ? ms : undefined;
}
