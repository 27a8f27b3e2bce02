import { nsFromMs, rfc3339FromMs, type AllocMetric, type Evaluation, type TraceStep } from '@waybill/model';
import type { LoggedTxn } from '@waybill/projection';
import { readStepTimes, type StepName, type StepTime } from '@waybill/state';

/** ToldStep is a step inside broker, worker or plan applier, with the transaction that reports it. */
export interface ToldStep extends StepTime {
  readonly txn: LoggedTxn;
}

/** ToldOf has the other known facts about the evaluation. */
export interface ToldOf {
  readonly evaluation: Evaluation | undefined;
  /** The time of the evaluation's commit. None of its steps was before it, whatever the clocks say. */
  readonly sinceNs: number;
  /** Returns the metrics of an allocation that the transaction's plan places, or could not place. */
  readonly metricOf: (txn: LoggedTxn) => AllocMetric | undefined;
}

/**
 * Returns the steps that the transactions of an evaluation report (CL-1047). Transactions without a readable report
 * have none.
 * @param txns the transactions, oldest first
 */
export function reportedSteps(evalId: string, txns: readonly LoggedTxn[]): ToldStep[] {
  return txns.flatMap((txn) =>
    readStepTimes(txn.stepTimes)
      .filter((of) => of.evalId === evalId)
      .flatMap(({ steps }) => steps.map((step) => ({ ...step, txn }))),
  );
}

/**
 * Returns the steps that one transaction reports, in their shown form. Steps that only describe another step are not
 * shown.
 */
export function shownSteps(txn: LoggedTxn, told: readonly ToldStep[], of: ToldOf): TraceStep[] {
  return told.flatMap((step, at): TraceStep[] => {
    const [shown, before] = [SHOWN[step.name], told[at - 1]];
    if (!shown || step.txn !== txn) return [];
    const again = step.name === 'dequeued' && before?.name === 'rejected';
    const fromMs = again ? before.fromMs : step.fromMs;
    const toMs = again ? step.fromMs : step.toMs;
    const worker = workerOf(told, at);
    return [
      {
        Time: Math.max(of.sinceNs, nsFromMs(fromMs)),
        EndTime: toMs === undefined ? 0 : Math.max(of.sinceNs, nsFromMs(toMs)),
        Service: shown.service,
        Instance: shown.service === 'broker' ? `${step.txn.role}@${step.txn.epoch}` : worker,
        Name: again ? 'redelivered' : shown.name,
        Index: 0,
        ClockSkewed: false,
        Details: shown.details?.(step, of, worker) ?? {},
      },
    ];
  });
}

/** Returns what the scheduler examined for one of the allocations of a plan. */
export const examinedNodes = (metric: AllocMetric | null | undefined): Record<string, string> =>
  metric
    ? {
        'nodes evaluated': String(metric.NodesEvaluated),
        filtered: String(metric.NodesFiltered),
        exhausted: String(metric.NodesExhausted),
      }
    : {};

interface Shown {
  readonly service: 'broker' | 'scheduler';
  readonly name: string;
  readonly details?: (step: ToldStep, of: ToldOf, worker: string) => Record<string, string>;
}

const queue: Shown['details'] = (_, { evaluation }): Record<string, string> =>
  evaluation ? { priority: String(evaluation.Priority), queue: evaluation.Type } : {};
const index: Shown['details'] = ({ details: [reached = ''] }) => ({ index: reached });

/** SHOWN gives each recorded step the service, the name and the details that a trace shows (CL-1042). */
const SHOWN: Partial<Record<StepName, Shown>> = {
  delayed: {
    service: 'broker',
    name: 'delayed until',
    details: ({ toMs = 0 }) => ({ time: rfc3339FromMs(toMs) }),
  },
  pending: { service: 'broker', name: 'waiting for earlier eval of job' },
  enqueued: { service: 'broker', name: 'enqueued', details: queue },
  unblocked: { service: 'broker', name: 'unblocked', details: queue },
  dequeued: {
    service: 'scheduler',
    name: 'dequeued',
    details: ({ details: [attempt = ''] }, _, worker) => ({ ...(worker && { worker }), attempt }),
  },
  rejected: { service: 'broker', name: 'rejected by worker' },
  waited: { service: 'scheduler', name: 'waiting for state', details: index },
  refreshed: { service: 'scheduler', name: 'refreshed', details: index },
  scheduled: {
    service: 'scheduler',
    name: 'scheduled',
    details: ({ details: [placed = '', stopped = ''], txn }, { metricOf }) => ({
      ...examinedNodes(metricOf(txn)),
      placed,
      stopped,
    }),
  },
  queued: { service: 'broker', name: 'plan queued' },
  checked: {
    service: 'broker',
    name: 'plan checked',
    details: ({ details: [rejected = ''] }) => ({ 'rejected nodes': rejected }),
  },
};

/** Returns the name of the worker. A worker reports it once per delivery, right after the handover. */
function workerOf(told: readonly ToldStep[], at: number): string {
  const named =
    told[at]?.name === 'dequeued' ? told[at + 1] : told.slice(0, at).findLast(({ name }) => name === 'taken');
  return named?.name === 'taken' ? (named.details[0] ?? '') : '';
}
