import type { AllocListStub, AllocMetric, EvaluationStub } from '@waybill/model';
import type { EvaluationAnswer } from './evaluation-table.js';
import type { ChangedObject, TxnRecord } from './log-record.js';
import { msOf } from './times.js';

/** A stretch of time, or a moment (`EndTime` 0), in the life of an evaluation; times are unix nanoseconds (API-269). */
export interface TraceStep {
  readonly Time: number;
  readonly EndTime: number;
  readonly Service: string;
  readonly Instance: string;
  readonly Name: string;
  /** Of the transaction; 0: none. */
  readonly Index: number;
  /** Measured by the clock of a machine that runs tasks, not by the servers'. */
  readonly ClockSkewed: boolean;
  readonly Details: Readonly<Record<string, string>>;
}

export interface RelatedEvaluation extends EvaluationStub {
  readonly Started: number;
  readonly Took: number;
}

export interface EvaluationTrace {
  readonly EvalID: string;
  readonly TraceID: string;
  /** Whether the transactions of all steps are still kept. */
  readonly Complete: boolean;
  readonly Steps: readonly TraceStep[];
  readonly Related: readonly RelatedEvaluation[];
}

/** What a trace is made of. */
export interface TraceSources {
  readonly evalId: string;
  /** Undefined: collected since. */
  readonly evaluation: EvaluationAnswer | undefined;
  /** Of the evaluation, oldest first; likewise below. */
  readonly records: readonly TxnRecord[];
  /** Lowest index of which the log still has records. */
  readonly floor: number;
  readonly allocs: readonly AllocListStub[];
  readonly allocRecords: ReadonlyMap<string, readonly TxnRecord[]>;
  /** What the scheduler looked at for one of them. */
  readonly metrics: AllocMetric | undefined;
  readonly deploymentRecords: readonly TxnRecord[];
}

/** Allocations shown unless all are wanted (CL-1043). */
const MAX_SLOW = 5;

/**
 * The time line of an evaluation, derived from transactions and from what agents reported (CL-1042, CL-1047).
 * Pure; the steps are in the order of time.
 */
export function evaluationTrace(sources: TraceSources): EvaluationTrace {
  const { evalId, evaluation, records, floor, allocs } = sources;
  const plannedNs = records.find(({ Name }) => Name === PLAN)?.Time ?? 0;
  const steps = [
    ...records.flatMap((record) => evaluationSteps(record, sources)),
    ...allocs.flatMap((alloc) => allocationSteps(alloc, sources.allocRecords.get(alloc.ID) ?? [], plannedNs)),
    ...sources.deploymentRecords.flatMap(deploymentSteps),
  ];
  return {
    EvalID: evalId,
    TraceID: records.find(({ TraceID }) => TraceID !== '')?.TraceID ?? '',
    Complete:
      floor <= (evaluation?.CreateIndex ?? 0) || records.some((record) => changeOf(record, evalId)?.Op === 'create'),
    Steps: steps.toSorted((a, b) => a.Time - b.Time),
    Related: (evaluation?.RelatedEvals ?? []).map((related) => ({
      ...related,
      Started: related.CreateTime,
      Took: Math.max(0, related.ModifyTime - related.CreateTime),
    })),
  };
}

/** The allocations whose steps are shown: those that took longest, the slowest first (CL-1043). */
export function slowestAllocations(allocs: readonly AllocListStub[]): AllocListStub[] {
  const endMs = (alloc: AllocListStub): number => {
    const started = Object.values(alloc.TaskStates ?? {}).map(({ StartedAt }) => msOf(StartedAt) ?? 0);
    return Math.max(msOf(alloc.DeploymentStatus?.Timestamp) ?? 0, ...started, alloc.CreateTime / 1e6);
  };
  return allocs.toSorted((a, b) => endMs(b) - endMs(a)).slice(0, MAX_SLOW);
}

const PLAN = 'ApplyPlanResults';

/** Steps that have nothing but what every step has. */
const moment = (record: TxnRecord, Name: string, Service: string, Details: Record<string, string> = {}): TraceStep => ({
  Time: record.Time,
  EndTime: 0,
  Service,
  Instance: record.Role === '' ? '' : `${record.Role}@${record.Epoch}`,
  Name,
  Index: record.Index,
  ClockSkewed: false,
  Details,
});

const changeOf = (record: TxnRecord, id: string): ChangedObject | undefined =>
  (record.Objects ?? []).find((object) => object.ID === id);

function evaluationSteps(record: TxnRecord, sources: TraceSources): TraceStep[] {
  const change = changeOf(record, sources.evalId);
  if (!change || record.Verdict === 'refused' || record.Verdict === 'void') return [];
  if (change.Op === 'create')
    return [submitted(record, sources), moment(record, 'committed', 'log', { transaction: record.Name })];
  if (change.Op === 'delete') return [moment(record, 'collected', 'log', { transaction: record.Name })];
  const status = / -> (\w+)/.exec(change.Change)?.[1] ?? '';
  const steps: TraceStep[] = record.Name === PLAN ? [planCommitted(record, sources)] : [];
  if (change.Change.startsWith('status blocked -> pending')) steps.push(moment(record, 'unblocked', 'broker'));
  else if (status === 'complete') steps.push(moment(record, 'completed', 'log', { transaction: record.Name }));
  else if (status !== '' && status !== 'pending')
    steps.push(moment(record, status, 'log', { transaction: record.Name }));
  return steps;
}

/** From the making of the evaluation to the writing of its transaction. */
function submitted(record: TxnRecord, { evaluation }: TraceSources): TraceStep {
  const { Actor, Role, Time, RequestID } = record;
  const made = Math.min(evaluation?.CreateTime || Time, Time);
  return {
    ...moment(record, 'submitted', Role === '' ? 'api' : Role, {
      actor: Actor.Name || Actor.ID || Actor.Kind,
      request: RequestID,
    }),
    Time: made,
    EndTime: Time > made ? Time : 0,
    Index: 0,
  };
}

function planCommitted(record: TxnRecord, { allocs, metrics }: TraceSources): TraceStep {
  const placed = allocs.filter(({ CreateIndex }) => CreateIndex === record.Index).length;
  return moment(record, 'plan committed', 'log', {
    allocations: String(placed),
    ...(metrics
      ? {
          'nodes evaluated': String(metrics.NodesEvaluated),
          filtered: String(metrics.NodesFiltered),
          exhausted: String(metrics.NodesExhausted),
        }
      : {}),
  });
}

/** What agents call the steps of a task, and what the time line calls them. */
const TASK_STEPS: Readonly<Record<string, string>> = {
  Received: 'received',
  'Task Setup': 'set up',
  Started: 'started',
};

/** The first of each step of each task; never before the plan was committed, whatever the machine's clock says. */
function allocationSteps(alloc: AllocListStub, records: readonly TxnRecord[], plannedNs: number): TraceStep[] {
  const indexOf = (change: RegExp): number =>
    records.find((record) => change.test(changeOf(record, alloc.ID)?.Change ?? ''))?.Index ?? 0;
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

function deploymentSteps(record: TxnRecord): TraceStep[] {
  const change = (record.Objects ?? []).find(({ Kind }) => Kind === 'deployment');
  const status = / -> (successful|failed|cancelled)\b/.exec(change?.Change ?? '')?.[1];
  if (!change || status === undefined) return [];
  const name = status === 'successful' ? 'deployment ok' : `deployment ${status}`;
  return [moment(record, name, 'log', { deployment: change.ID })];
}
