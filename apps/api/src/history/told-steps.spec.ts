import type { AllocMetric, Evaluation, TraceStep } from '@waybill/model';
import type { LoggedTxn } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { evaluationTrace } from './evaluation-trace.js';
import { aLoggedTxn } from './logged-txn.fixture.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const OTHER = '7c4c1d2e-0000-4000-8000-000000000009';
const START_MS = Date.parse('2026-03-01T10:00:00Z');
const at = (ms: number) => (START_MS + ms) * 1e6;

function txn(index: number, ms: number, name: string, change: string, stepTimes = ''): LoggedTxn {
  const op = change === 'created' ? 'create' : 'update';
  const objects = [{ kind: 'eval', namespace: 'default', id: EVAL, op, change }] as const;
  return aLoggedTxn({ index, timeNs: at(ms), name, stepTimes, objects });
}

const evaluation: Evaluation = {
  ...fixtures.anEval({ ID: EVAL, Type: 'service', CreateTime: at(0), CreateIndex: 812 }),
  Priority: 50,
};
const registered: LoggedTxn = {
  ...txn(812, 3, 'JobRegister', 'created'),
  actor: { Kind: 'anonymous', ID: '', Name: '' },
  role: '',
};
const handedAt = (ms: number, steps: string, evalId = EVAL) => `${evalId}@${START_MS + ms} ${steps}`;
const PASS = 'taken0:5f3a9c2e waited1+2:815 scheduled3+8:1:0';

const looked = { NodesEvaluated: 5, NodesFiltered: 1, NodesExhausted: 0 } as AllocMetric;

function stepsOf(
  txns: LoggedTxn[],
  placed = [fixtures.anAlloc({ CreateIndex: 815, Metrics: looked })],
  of = evaluation,
): TraceStep[] {
  const none = { allocs: [], allocTxns: new Map<string, LoggedTxn[]>(), deploymentTxns: [], related: [], floor: 1 };
  return evaluationTrace({ evalId: EVAL, evaluation: of, txns: [registered, ...txns], placed, ...none }).Steps;
}

/** Whole milliseconds after the start. */
const rows = (steps: readonly TraceStep[]) =>
  steps.map(({ Time, EndTime, Service, Name }) => [
    Math.round(Time / 1e6) - START_MS,
    EndTime && Math.round(EndTime / 1e6) - START_MS,
    Service,
    Name,
  ]);

describe('the steps that transactions tell', () => {
  it('CL-1047, CL-1042: from the queue over the pass to the plan, each with its times, who and what', () => {
    const plan = handedAt(9, `enqueued-4+4 dequeued0:1 ${PASS} queued12+1 checked13+0:0:3`);
    const steps = stepsOf([
      txn(815, 24, 'ApplyPlanResults', 'written again', plan),
      txn(816, 30, 'EvalUpdate', 'status pending -> complete', handedAt(9, 'committed13+3:815 scheduled19+0:0:0')),
    ]);
    expect(rows(steps)).toEqual([
      [0, 3, 'api', 'submitted'],
      [3, 0, 'log', 'committed'],
      [5, 9, 'broker', 'enqueued'],
      [9, 0, 'scheduler', 'dequeued'],
      [10, 12, 'scheduler', 'waiting for state'],
      [12, 20, 'scheduler', 'scheduled'],
      [21, 22, 'broker', 'plan queued'],
      [22, 22, 'broker', 'plan checked'],
      [22, 25, 'log', 'plan committed'],
      [28, 28, 'scheduler', 'scheduled'],
      [30, 0, 'log', 'completed'],
    ]);
    const details = (name: string) => steps.find(({ Name }) => Name === name)?.Details;
    expect(details('enqueued')).toEqual({ priority: '50', queue: 'service' });
    expect(details('dequeued')).toEqual({ worker: '5f3a9c2e', attempt: '1' });
    expect(details('waiting for state')).toEqual({ index: '815' });
    expect(details('scheduled')).toMatchObject({ 'nodes evaluated': '5', placed: '1', stopped: '0' });
    expect(details('plan checked')).toEqual({ 'rejected nodes': '0' });
    expect(details('plan committed')).toEqual({ allocations: '3' });
    expect(steps.map(({ Instance }) => Instance).slice(2, 8)).toEqual([
      'broker@7',
      ...Array<string>(3).fill('5f3a9c2e'),
      ...Array<string>(2).fill('broker@7'),
    ]);
  });

  it('CL-1042: a delay, an earlier evaluation of the job, a worker that gave it back, another that took it', () => {
    const told = 'delayed-90+20 pending-70+30 enqueued-40+10 dequeued-30:1 rejected-20 dequeued0:2 taken0:aa11bb22';
    const steps = stepsOf([txn(820, 140, 'EvalUpdate', 'status pending -> complete', handedAt(100, told))]);
    expect(rows(steps).slice(2, -1)).toEqual([
      [10, 30, 'broker', 'delayed until'],
      [30, 60, 'broker', 'waiting for earlier eval of job'],
      [60, 70, 'broker', 'enqueued'],
      [70, 0, 'scheduler', 'dequeued'],
      [80, 0, 'broker', 'rejected by worker'],
      [80, 100, 'scheduler', 'redelivered'],
    ]);
    expect(steps[2]?.Details).toEqual({ time: new Date(START_MS + 30).toISOString() });
    expect(steps.find(({ Name }) => Name === 'redelivered')?.Details).toEqual({ worker: 'aa11bb22', attempt: '2' });
  });

  it('CL-1042: one that waits for capacity is blocked until it is unblocked, and again after a plan for a part', () => {
    const waiting: Evaluation = { ...evaluation, TriggeredBy: 'queued-allocs' };
    const txns = [
      txn(
        815,
        420,
        'ApplyPlanResults',
        'written again',
        handedAt(401, `unblocked-1+1 dequeued0:1 ${PASS} checked13+1:0:1`),
      ),
      txn(816, 930, 'EvalUpdate', 'status blocked -> complete', handedAt(911, 'unblocked-1+1 dequeued0:1')),
    ];
    const blocked = (steps: readonly TraceStep[]) => rows(steps).filter(([, , , name]) => name === 'blocked');
    expect(blocked(stepsOf(txns, [], waiting))).toEqual([
      [3, 400, 'broker', 'blocked'],
      [420, 910, 'broker', 'blocked'],
    ]);
    expect(blocked(stepsOf([txn(816, 50, 'EvalUpdate', 'status blocked -> canceled')], [], waiting))).toEqual([
      [3, 50, 'broker', 'blocked'],
    ]);
    expect(blocked(stepsOf([], [], { ...waiting, Status: 'blocked' }))).toEqual([[3, 0, 'broker', 'blocked']]);
  });

  it('CL-1047: of what several evaluations tell together each shows its own', () => {
    const both = `${handedAt(9, 'dequeued0:3', OTHER)}; ${handedAt(9, 'dequeued0:1')}`;
    const steps = stepsOf([txn(816, 30, 'EvalUpdate', 'status pending -> complete', both)]);
    expect(steps.filter(({ Name }) => Name === 'dequeued').map(({ Details }) => Details)).toEqual([{ attempt: '1' }]);
  });

  it('CL-1047: a clock of the broker that is behind shows no step before the evaluation was committed', () => {
    const steps = stepsOf([txn(816, 30, 'EvalUpdate', 'status pending -> complete', handedAt(-50, 'enqueued-4+4'))]);
    expect(rows(steps)[2]).toEqual([3, 3, 'broker', 'enqueued']);
  });

  it.each(['', 'nonsense', `${EVAL}@x enqueued0`, handedAt(9, 'dequeued'), handedAt(9, 'future0+4:1')])(
    'CL-1047: %j tells nothing, and the rest of the trace is as it was',
    (told) => {
      const steps = stepsOf([
        txn(815, 24, 'ApplyPlanResults', 'written again', told),
        txn(816, 30, 'EvalUpdate', 'status pending -> complete'),
      ]);
      expect(rows(steps).map(([, , , name]) => name)).toEqual([
        'submitted',
        'committed',
        'plan committed',
        'completed',
      ]);
      expect(steps[2]).toMatchObject({ EndTime: 0, Details: { 'nodes evaluated': '5' } });
    },
  );
});
