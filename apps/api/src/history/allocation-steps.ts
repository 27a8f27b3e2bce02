import type { Allocation, TraceStep } from '@waybill/model';
import type { LoggedTxn } from '@waybill/projection';

/** Allocations shown unless all are wanted (CL-1043). */
const MAX_SLOW = 5;

/** The allocations whose steps are shown: those that took longest, the slowest first (CL-1043). */
export function slowestAllocations(allocs: readonly Allocation[]): Allocation[] {
  const endMs = (alloc: Allocation): number => {
    const started = Object.values(alloc.TaskStates ?? {}).map(({ StartedAt }) => msOf(StartedAt) ?? 0);
    return Math.max(msOf(alloc.DeploymentStatus?.Timestamp) ?? 0, ...started, alloc.CreateTime / 1e6);
  };
  return allocs.toSorted((a, b) => endMs(b) - endMs(a)).slice(0, MAX_SLOW);
}

/** What agents call the steps of a task, and what the time line calls them. */
const TASK_STEPS: Readonly<Record<string, string>> = {
  Received: 'received',
  'Task Setup': 'set up',
  Started: 'started',
};

export interface AllocationSteps {
  readonly alloc: Allocation;
  /** Of the allocation, oldest first. */
  readonly txns: readonly LoggedTxn[];
  /** When the plan was committed: nothing of it happened before, whatever the machine's clock says. */
  readonly plannedNs: number;
  /** Made by the evaluation; false: it was there, and is only judged anew. */
  readonly isNew: boolean;
}

/** A step by the machine's clock: it took from `fromNs` to `timeNs`. */
interface MachineStep {
  readonly name: string;
  readonly timeNs: number;
  readonly fromNs: number;
  /** The transaction that reported the step; 0: none. */
  readonly index: number;
  readonly task?: string;
}

/** The first of each step of each task (CL-1043). */
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

/** Unix milliseconds of an agent's time; undefined: none. */
function msOf(time: string | null | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return ms > 0 ? ms : undefined;
}
