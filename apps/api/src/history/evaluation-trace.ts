import {
  nsFromMs,
  type Allocation,
  type AllocMetric,
  type Evaluation,
  type EvaluationStub,
  type EvaluationTrace,
  type TraceStep,
} from '@waybill/model';
import type { LoggedObject, LoggedTxn } from '@waybill/projection';
import { allocationSteps } from './allocation-steps.js';
import { examinedNodes, shownSteps, reportedSteps, type ToldStep } from './told-steps.js';

/** TraceSources are the data from which a trace is made. */
export interface TraceSources {
  readonly evalId: string;
  /** The evaluation. It is undefined if it was collected since. */
  readonly evaluation: Evaluation | undefined;
  readonly related: readonly EvaluationStub[];
  /** The transactions of the evaluation, oldest first. The transactions below have the same order. */
  readonly txns: readonly LoggedTxn[];
  /** The lowest index whose record the log still has. */
  readonly floor: number;
  /** All allocations that were placed for the evaluation. */
  readonly placed: readonly Allocation[];
  /** The placed allocations whose steps are shown. */
  readonly allocs: readonly Allocation[];
  readonly allocTxns: ReadonlyMap<string, readonly LoggedTxn[]>;
  readonly deploymentTxns: readonly LoggedTxn[];
}

/**
 * Returns the time line of an evaluation, derived from transactions and from agents' reports (CL-1042, CL-1047). The
 * function is pure. The steps are in the order of time.
 */
export function evaluationTrace(sources: TraceSources): EvaluationTrace {
  const { evalId, evaluation, txns, floor, allocs } = sources;
  const plans = txns.filter(({ name }) => name === PLAN);
  const told = reportedSteps(evalId, txns);
  const toldOf = {
    evaluation,
    sinceNs: txns.find((txn) => changeOf(txn, evalId)?.op === 'create')?.timeNs ?? 0,
    metricOf: (txn: LoggedTxn) => metricOf(txn, sources),
  };
  // Steps at the same time stay in this order: first the steps that led to a transaction, then the transaction.
  const steps = [
    ...withWaits(
      evaluation,
      txns.flatMap((txn) => [...shownSteps(txn, told, toldOf), ...evaluationSteps(txn, sources, told)]),
    ),
    ...allocs.flatMap((alloc) => {
      const made = plans.find(({ index }) => index === alloc.CreateIndex);
      const plannedNs = (made ?? plans[0])?.timeNs ?? 0;
      const isNew = made !== undefined || alloc.CreateIndex < floor;
      return allocationSteps({ alloc, txns: sources.allocTxns.get(alloc.ID) ?? [], plannedNs, isNew });
    }),
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

const PLAN = 'ApplyPlanResults';

/** Returns a step that has only the members of every step. */
const momentStep = (
  txn: LoggedTxn,
  Name: string,
  Service: string,
  Details: Record<string, string> = {},
): TraceStep => ({
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

function evaluationSteps(txn: LoggedTxn, sources: TraceSources, told: readonly ToldStep[]): TraceStep[] {
  const changed = changeOf(txn, sources.evalId);
  if (!changed || txn.verdict === 'refused' || txn.verdict === 'void') return [];
  const transaction = txn.name;
  if (changed.op === 'create')
    return [submittedStep(txn, sources), momentStep(txn, 'committed', 'log', { transaction })];
  if (changed.op === 'delete') return [momentStep(txn, 'collected', 'log', { transaction })];
  const status = / -> (\w+)/.exec(changed.change)?.[1] ?? '';
  const steps: TraceStep[] = txn.name === PLAN ? [planCommitted(txn, sources, told)] : [];
  if (changed.change.startsWith('status blocked -> pending')) steps.push(momentStep(txn, 'unblocked', 'broker'));
  else if (status === 'complete') steps.push(momentStep(txn, 'completed', 'log', { transaction }));
  else if (status !== '' && status !== 'pending') steps.push(momentStep(txn, status, 'log', { transaction }));
  return steps;
}

/** Returns the step from the making of the evaluation to the writing of its transaction. */
function submittedStep(txn: LoggedTxn, { evaluation }: TraceSources): TraceStep {
  const { actor, role, timeNs, requestId } = txn;
  const made = Math.min(evaluation?.CreateTime || timeNs, timeNs);
  return {
    ...momentStep(txn, 'submitted', role || (actor.Kind === 'role' ? actor.ID : 'api'), {
      actor: actor.Name || actor.ID || actor.Kind,
      request: requestId,
    }),
    Time: made,
    EndTime: timeNs > made ? timeNs : 0,
    Index: 0,
  };
}

/** The triggers of evaluations that wait from their beginning. */
const BLOCKED_TRIGGERS: ReadonlySet<string> = new Set(['queued-allocs', 'max-plan-attempts']);

/**
 * Adds the times in which the evaluation was blocked: before each unblocking, or from its beginning up to now or to its
 * end.
 */
function withWaits(evaluation: Evaluation | undefined, steps: readonly TraceStep[]): TraceStep[] {
  const shown: TraceStep[] = [];
  let soFar = 0;
  for (const step of steps) {
    const last = shown.at(-1);
    if (step.Name === 'unblocked' && last?.Name === 'blocked')
      shown[shown.length - 1] = { ...last, EndTime: step.Time };
    else if (step.Name === 'unblocked')
      shown.push({ ...step, Name: 'blocked', Time: Math.min(soFar, step.Time), EndTime: step.Time, Details: {} });
    shown.push(step);
    soFar = Math.max(soFar, step.Time, step.EndTime);
  }
  const committed = steps.find(({ Name }) => Name === 'committed');
  const ended = steps.find(({ Name }) => Name === 'canceled');
  const waits = evaluation?.Status === 'blocked' || ended !== undefined;
  if (!committed || !waits || !BLOCKED_TRIGGERS.has(evaluation?.TriggeredBy ?? '')) return shown;
  if (shown.some(({ Name }) => Name === 'blocked')) return shown;
  const blocked = {
    ...committed,
    Name: 'blocked',
    Service: 'broker',
    Index: 0,
    EndTime: ended?.Time ?? 0,
    Details: {},
  };
  return [...shown, blocked];
}

/**
 * Returns the step of the plan's commit. It is a moment, unless a later transaction says how long it took until the
 * plan was in the applier's own state.
 */
function planCommitted(txn: LoggedTxn, sources: TraceSources, told: readonly ToldStep[]): TraceStep {
  const commit = told.find(({ name, details }) => name === 'committed' && Number(details[0]) === txn.index);
  const check = told.find((step) => step.name === 'checked' && step.txn === txn);
  const step = momentStep(txn, 'plan committed', 'log', {
    allocations: check?.details[1] ?? String(placedBy(txn, sources).length),
    ...(check ? {} : examinedNodes(metricOf(txn, sources))),
  });
  return commit?.toMs === undefined ? step : { ...step, Time: nsFromMs(commit.fromMs), EndTime: nsFromMs(commit.toMs) };
}

/**
 * Returns the metrics of an allocation that the transaction places. If it places none, the metrics are those of a group
 * that found no place.
 */
function metricOf(txn: LoggedTxn, sources: TraceSources): AllocMetric | undefined {
  return placedBy(txn, sources)[0]?.Metrics ?? Object.values(sources.evaluation?.FailedTGAllocs ?? {})[0];
}

const placedBy = ({ index }: LoggedTxn, { placed }: TraceSources): Allocation[] =>
  placed.filter(({ CreateIndex }) => CreateIndex === index);

function deploymentSteps(txn: LoggedTxn): TraceStep[] {
  const changed = txn.objects.find(({ kind }) => kind === 'deployment');
  const status = / -> (successful|failed|cancelled)\b/.exec(changed?.change ?? '')?.[1];
  if (!changed || status === undefined) return [];
  const name = status === 'successful' ? 'deployment ok' : `deployment ${status}`;
  return [momentStep(txn, name, 'log', { deployment: changed.id })];
}
