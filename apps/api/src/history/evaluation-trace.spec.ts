import type { Allocation, Evaluation } from '@waybill/model';
import type { LoggedTxn } from '@waybill/projection';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { slowestAllocations } from './allocation-steps.js';
import { evaluationTrace, type TraceSources } from './evaluation-trace.js';
import { aLoggedTxn } from './logged-txn.fixture.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
const NODE = '1f3a9c2e-0000-4000-8000-000000000003';
const DEPLOYMENT = 'a1b2c3d4-0000-4000-8000-000000000004';
const START_MS = Date.parse('2026-03-01T10:00:00Z');
const TRACE = '4f0a'.repeat(8);
const at = (ms: number) => (START_MS + ms) * 1e6;
/** Whole milliseconds. */
const sinceStart = (ns: number) => Math.round(ns / 1e6) - START_MS;

function txn(index: number, ms: number, name: string, object: object, more: Partial<LoggedTxn> = {}): LoggedTxn {
  const written = { kind: 'eval', namespace: 'default', id: EVAL, op: 'update', change: 'written again' } as const;
  return aLoggedTxn({ index, timeNs: at(ms), name, objects: [{ ...written, ...object }], ...more });
}

const byToken: Partial<LoggedTxn> = {
  actor: { Kind: 'token', ID: 'x', Name: 'ci' },
  role: '',
  traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
};
const registered = txn(812, 3, 'JobRegister', { op: 'create', change: 'created' }, byToken);
const planned = txn(815, 22, 'ApplyPlanResults', {});
const completed = txn(816, 25, 'EvalUpdate', { change: 'status pending -> complete' });

function placed(startedMs: number, healthyMs?: number, ID = ALLOC): Allocation {
  const Events = [
    { Type: 'Received', Time: at(-40) },
    { Type: 'Started', Time: at(startedMs) },
    { Type: 'Started', Time: at(startedMs + 60_000) },
  ];
  const DeploymentStatus =
    healthyMs === undefined
      ? null
      : { Healthy: true, Timestamp: new Date(START_MS + healthyMs).toISOString(), Canary: false, ModifyIndex: 820 };
  const TaskStates = { redis: { StartedAt: new Date(START_MS + startedMs).toISOString(), Events } };
  return fixtures.anAlloc({
    ID,
    NodeID: NODE,
    CreateIndex: 815,
    CreateTime: at(20),
    DeploymentStatus,
    TaskStates: TaskStates as unknown as Allocation['TaskStates'],
  });
}

const evaluation: Evaluation = fixtures.anEval({ ID: EVAL, Status: 'complete', CreateTime: at(0), CreateIndex: 812 });
const sources = (more: Partial<TraceSources> = {}): TraceSources => ({
  evalId: EVAL,
  evaluation,
  related: [],
  txns: [registered, planned, completed],
  floor: 1,
  placed: [placed(2_800, 12_900)],
  allocs: [placed(2_800, 12_900)],
  allocTxns: new Map([
    [ALLOC, [txn(817, 2_900, 'AllocClientUpdate', { kind: 'alloc', id: ALLOC, change: 'client pending -> running' })]],
  ]),
  deploymentTxns: [
    txn(821, 13_000, 'DeploymentStatusUpdate', {
      kind: 'deployment',
      id: DEPLOYMENT,
      change: 'status running -> successful',
    }),
  ],
  ...more,
});

describe('the trace of an evaluation', () => {
  it('API-269, CL-1042: steps in the order of time, from the request to a healthy allocation', () => {
    const { TraceID, Steps } = evaluationTrace(sources());
    expect(TraceID).toBe(TRACE);
    const rows = Steps.map(({ Time, EndTime, Service, Name, Index }) => [
      sinceStart(Time),
      EndTime && sinceStart(EndTime),
      Service,
      Name,
      Index,
    ]);
    expect(rows).toEqual([
      [0, 3, 'api', 'submitted', 0],
      [3, 0, 'log', 'committed', 812],
      [22, 0, 'log', 'plan committed', 815],
      [22, 0, 'agent', 'received', 0],
      [22, 2_800, 'agent', 'started', 817],
      [25, 0, 'log', 'completed', 816],
      [2_800, 12_900, 'agent', 'healthy', 820],
      [13_000, 0, 'log', 'deployment ok', 821],
    ]);
    expect(Steps[0]).toMatchObject({ Details: { actor: 'ci', request: '51d0' } });
    expect(Steps[2]).toMatchObject({ Instance: 'broker@7', Details: { allocations: '1' } });
  });

  it('CL-1042: blocked, unblocked, failed; a refused transaction is no step', () => {
    const txns = [
      registered,
      txn(813, 10, 'EvalUpdate', { change: 'status pending -> complete' }, { verdict: 'refused' }),
      txn(814, 20, 'EvalUpdate', { change: 'status pending -> blocked' }),
      txn(820, 900, 'EvalUpdate', { change: 'status blocked -> pending' }),
      txn(822, 950, 'EvalUpdate', { change: 'status pending -> failed' }),
    ];
    const { Steps } = evaluationTrace(sources({ txns, placed: [], allocs: [], deploymentTxns: [] }));
    expect(Steps.map(({ Name, Index }) => [Name, Index])).toEqual([
      ['submitted', 0],
      ['committed', 812],
      ['blocked', 814],
      ['unblocked', 820],
      ['failed', 822],
    ]);
  });

  it("CL-1043: an agent's times are marked, and never before the plan; five allocations, the slowest first", () => {
    const { Steps } = evaluationTrace(sources());
    const received = Steps.find(({ Name }) => Name === 'received');
    expect(received).toMatchObject({ Time: planned.timeNs, ClockSkewed: true });
    expect(Steps.filter(({ ClockSkewed }) => ClockSkewed).every(({ Service }) => Service === 'agent')).toBe(true);
    const many = [300, 900, 100, 700, 500, 200, 800].map((ms) => placed(ms, undefined, `alloc-${ms}`));
    expect(slowestAllocations(many).map(({ ID }) => ID)).toEqual([900, 800, 700, 500, 300].map((ms) => `alloc-${ms}`));
  });

  it('CL-1043: of an allocation that was there already only that it is healthy again is a step', () => {
    const inPlace = { ...placed(-60_000, 100), CreateIndex: 700 };
    const names = (more: Partial<TraceSources>) =>
      evaluationTrace(sources({ placed: [inPlace], allocs: [inPlace], ...more }))
        .Steps.filter(({ Service }) => Service === 'agent')
        .map(({ Name }) => Name);
    expect(names({})).toEqual(['healthy']);
    // Nobody knows any more which transaction made it.
    expect(names({ floor: 701 })).toEqual(['received', 'started', 'healthy']);
  });

  it('CL-1042: what a service wrote in nobody’s name was submitted by that service', () => {
    const actor = { Kind: 'role', ID: 'nodes', Name: 'nodes' } as const;
    const { Steps } = evaluationTrace(sources({ txns: [{ ...registered, actor }] }));
    expect(Steps[0]).toMatchObject({ Name: 'submitted', Service: 'nodes' });
  });

  it('CL-1048: steps that are no longer kept are missing, and the trace says so', () => {
    expect(evaluationTrace(sources()).Complete).toBe(true);
    expect(evaluationTrace(sources({ floor: 814, txns: [planned, completed] })).Complete).toBe(false);
    expect(evaluationTrace(sources({ evaluation: undefined, floor: 1 })).Complete).toBe(true);
  });

  it('CL-1045: related evaluations say when they began and how long they took', () => {
    const related = fixtures.anEval({ CreateTime: at(50), ModifyTime: at(1_250) });
    expect(evaluationTrace(sources({ related: [related] })).Related).toMatchObject([
      { ID: related.ID, Started: at(50), Took: 1_200e6 },
    ]);
  });
});
