import type { Allocation, AllocMetric, Evaluation, EvaluationStub, EvaluationTrace, TraceStep } from '@waybill/model';
import type { LoggedObject, LoggedTxn } from '@waybill/projection';

/** What a trace is made of. */
export interface TraceSources {
  readonly evalId: string;
  /** Undefined: collected since. */
  readonly evaluation: Evaluation | undefined;
  readonly related: readonly EvaluationStub[];
  /** Of the evaluation, oldest first; likewise below. */
  readonly txns: readonly LoggedTxn[];
  /** Lowest index of which the log still has records. */
  readonly floor: number;
  readonly allocs: readonly Allocation[];
  readonly allocTxns: ReadonlyMap<string, readonly LoggedTxn[]>;
  readonly deploymentTxns: readonly LoggedTxn[];
}

/** Allocations shown unless all are wanted (CL-1043). */
const MAX_SLOW = 5;

/**
 * The time line of an evaluation, derived from transactions and from what agents reported (CL-1042, CL-1047).
 * Pure; the steps are in the order of time.
 */
export function evaluationTrace(sources: TraceSources): EvaluationTrace {
  const { evalId, evaluation, txns, floor, allocs } = sources;
  const plannedNs = txns.find(({ name }) => name === PLAN)?.timeNs ?? 0;
  const steps = [
    ...txns.flatMap((txn) => evaluationSteps(txn, sources)),
    ...allocs.flatMap((alloc) => allocationSteps(alloc, sources.allocTxns.get(alloc.ID) ?? [], plannedNs)),
    ...sources.deploymentTxns.flatMap(deploymentSteps),
  ];
  return {
    EvalID: evalId,
    TraceID: txns.map(traceIdOf).find((id) => id !== '') ?? '',
    Complete: floor <= (evaluation?.CreateIndex ?? 0) || txns.some((txn) => changeOf(txn, evalId)?.op === 'create'),
    Steps: steps.toSorted((a, b) => a.Time - b.Time),
    Related: sources.related.map((related) => ({
      ...related,
      Started: related.CreateTime,
      Took: Math.max(0, related.ModifyTime - related.CreateTime),
    })),
  };
}

/** The allocations whose steps are shown: those that took longest, the slowest first (CL-1043). */
export function slowestAllocations(allocs: readonly Allocation[]): Allocation[] {
  const endMs = (alloc: Allocation): number => {
    const started = Object.values(alloc.TaskStates ?? {}).map(({ StartedAt }) => msOf(StartedAt) ?? 0);
    return Math.max(msOf(alloc.DeploymentStatus?.Timestamp) ?? 0, ...started, alloc.CreateTime / 1e6);
  };
  return allocs.toSorted((a, b) => endMs(b) - endMs(a)).slice(0, MAX_SLOW);
}

const PLAN = 'ApplyPlanResults';

/** Steps that have nothing but what every step has. */
const moment = (txn: LoggedTxn, Name: string, Service: string, Details: Record<string, string> = {}): TraceStep => ({
  Time: txn.timeNs,
  EndTime: 0,
  Service,
  Instance: txn.role === '' ? '' : `${txn.role}@${txn.epoch}`,
  Name,
  Index: txn.index,
  ClockSkewed: false,
  Details,
});

const traceIdOf = ({ traceparent }: LoggedTxn): string => traceparent.split('-')[1] ?? '';

const changeOf = (txn: LoggedTxn, id: string): LoggedObject | undefined =>
  txn.objects.find((object) => object.id === id);

function evaluationSteps(txn: LoggedTxn, sources: TraceSources): TraceStep[] {
  const changed = changeOf(txn, sources.evalId);
  if (!changed || txn.verdict === 'refused' || txn.verdict === 'void') return [];
  const transaction = txn.name;
  if (changed.op === 'create') return [submitted(txn, sources), moment(txn, 'committed', 'log', { transaction })];
  if (changed.op === 'delete') return [moment(txn, 'collected', 'log', { transaction })];
  const status = / -> (\w+)/.exec(changed.change)?.[1] ?? '';
  const steps: TraceStep[] = txn.name === PLAN ? [planCommitted(txn, sources)] : [];
  if (changed.change.startsWith('status blocked -> pending')) steps.push(moment(txn, 'unblocked', 'broker'));
  else if (status === 'complete') steps.push(moment(txn, 'completed', 'log', { transaction }));
  else if (status !== '' && status !== 'pending') steps.push(moment(txn, status, 'log', { transaction }));
  return steps;
}

/** From the making of the evaluation to the writing of its transaction. */
function submitted(txn: LoggedTxn, { evaluation }: TraceSources): TraceStep {
  const { actor, role, timeNs, requestId } = txn;
  const made = Math.min(evaluation?.CreateTime || timeNs, timeNs);
  return {
    ...moment(txn, 'submitted', role === '' ? 'api' : role, {
      actor: actor.Name || actor.ID || actor.Kind,
      request: requestId,
    }),
    Time: made,
    EndTime: timeNs > made ? timeNs : 0,
    Index: 0,
  };
}

function planCommitted(txn: LoggedTxn, { allocs }: TraceSources): TraceStep {
  const placed = allocs.filter(({ CreateIndex }) => CreateIndex === txn.index);
  return moment(txn, 'plan committed', 'log', { allocations: String(placed.length), ...lookedAt(allocs[0]?.Metrics) });
}

/** What the scheduler looked at for one of them. */
const lookedAt = (metrics: AllocMetric | null | undefined): Record<string, string> =>
  metrics
    ? {
        'nodes evaluated': String(metrics.NodesEvaluated),
        filtered: String(metrics.NodesFiltered),
        exhausted: String(metrics.NodesExhausted),
      }
    : {};

/** What agents call the steps of a task, and what the time line calls them. */
const TASK_STEPS: Readonly<Record<string, string>> = {
  Received: 'received',
  'Task Setup': 'set up',
  Started: 'started',
};

/** The first of each step of each task; never before the plan was committed, whatever the machine's clock says. */
function allocationSteps(alloc: Allocation, txns: readonly LoggedTxn[], plannedNs: number): TraceStep[] {
  const indexOf = (change: RegExp): number =>
    txns.find((txn) => change.test(changeOf(txn, alloc.ID)?.change ?? ''))?.index ?? 0;
  const onMachine = (Name: string, timeNs: number, fromNs: number, Index: number, task?: string): TraceStep => ({
    Time: Math.max(fromNs, plannedNs),
    EndTime: timeNs > fromNs ? Math.max(timeNs, plannedNs) : 0,
    Service: 'agent',
    Instance: alloc.NodeID,
    Name,
    Index,
    ClockSkewed: true,
    Details: { allocation: alloc.ID, ...(task === undefined ? {} : { task }) },
  });
  const steps: TraceStep[] = [];
  let lastStart = 0;
  for (const [task, { Events }] of Object.entries(alloc.TaskStates ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    let before = 0;
    for (const [type, name] of Object.entries(TASK_STEPS)) {
      const time = (Events ?? []).find((event) => event.Type === type)?.Time;
      if (time === undefined) continue;
      steps.push(onMachine(name, time, before || time, name === 'started' ? indexOf(/-> running\b/) : 0, task));
      before = time;
    }
    lastStart = Math.max(lastStart, before);
  }
  const { Healthy, Timestamp, ModifyIndex } = alloc.DeploymentStatus ?? {};
  const judgedMs = msOf(Timestamp);
  if (typeof Healthy === 'boolean' && judgedMs !== undefined)
    steps.push(
      onMachine(Healthy ? 'healthy' : 'unhealthy', judgedMs * 1e6, lastStart || judgedMs * 1e6, ModifyIndex ?? 0),
    );
  return steps;
}

function deploymentSteps(txn: LoggedTxn): TraceStep[] {
  const changed = txn.objects.find(({ kind }) => kind === 'deployment');
  const status = / -> (successful|failed|cancelled)\b/.exec(changed?.change ?? '')?.[1];
  if (!changed || status === undefined) return [];
  const name = status === 'successful' ? 'deployment ok' : `deployment ${status}`;
  return [moment(txn, name, 'log', { deployment: changed.id })];
}

/** Unix milliseconds of an agent's time; undefined: none. */
function msOf(time: string | null | undefined): number | undefined {
  const ms = Date.parse(time ?? '');
  return ms > 0 ? ms : undefined;
}
