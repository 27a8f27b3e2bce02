import type { AllocListStub } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { Display } from './display.js';
import { evaluationTrace, slowestAllocations, type TraceSources } from './evaluation-trace.js';
import { EvaluationTraceText, shortDuration } from './evaluation-trace-text.js';
import type { TxnRecord } from './log-record.js';
import { Terminal } from './terminal.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
const NODE = '1f3a9c2e-0000-4000-8000-000000000003';
const DEPLOYMENT = 'a1b2c3d4-0000-4000-8000-000000000004';
const START_MS = Date.parse('2026-03-01T10:00:00Z');
const at = (ms: number) => (START_MS + ms) * 1e6;

function record(Index: number, ms: number, Name: string, object: object, more: Partial<TxnRecord> = {}): TxnRecord {
  return {
    Index,
    Time: at(ms),
    Name,
    Actor: { Kind: 'role', ID: 'broker', Name: 'broker' },
    RequestID: '51d0',
    Reason: '',
    TraceID: '',
    SpanID: '',
    Role: 'broker',
    Epoch: 7,
    Verdict: 'accepted',
    Error: '',
    Objects: [{ Kind: 'eval', Namespace: 'default', ID: EVAL, Op: 'update', Change: 'written again', ...object }],
    ...more,
  };
}

const byToken = { Actor: { Kind: 'token', ID: 'x', Name: 'ci' }, Role: '', TraceID: '4f0a'.repeat(8) };
const registered = record(812, 3, 'JobRegister', { Op: 'create', Change: 'created' }, byToken);
const planned = record(815, 22, 'ApplyPlanResults', {});
const completed = record(816, 25, 'EvalUpdate', { Change: 'status pending -> complete' });

function placed(startedMs: number, healthyMs?: number, ID = ALLOC): AllocListStub {
  const Events = [
    { Type: 'Received', Time: at(-40) },
    { Type: 'Started', Time: at(startedMs) },
    { Type: 'Started', Time: at(startedMs + 60_000) },
  ];
  const stub = {
    ID,
    NodeID: NODE,
    CreateIndex: 815,
    CreateTime: at(20),
    TaskStates: { redis: { StartedAt: new Date(START_MS + startedMs).toISOString(), Events } },
    DeploymentStatus:
      healthyMs === undefined
        ? null
        : { Healthy: true, Timestamp: new Date(START_MS + healthyMs).toISOString(), ModifyIndex: 820 },
  };
  return stub as unknown as AllocListStub;
}

const sources = (more: Partial<TraceSources> = {}): TraceSources => ({
  evalId: EVAL,
  evaluation: {
    ID: EVAL,
    Status: 'complete',
    JobID: 'web',
    Namespace: 'default',
    TriggeredBy: 'job-register',
    CreateTime: at(0),
    CreateIndex: 812,
  },
  records: [registered, planned, completed],
  floor: 1,
  allocs: [placed(2_800, 12_900)],
  allocRecords: new Map([
    [
      ALLOC,
      [record(817, 2_900, 'AllocClientUpdate', { Kind: 'alloc', ID: ALLOC, Change: 'client pending -> running' })],
    ],
  ]),
  metrics: undefined,
  deploymentRecords: [
    record(821, 13_000, 'DeploymentStatusUpdate', {
      Kind: 'deployment',
      ID: DEPLOYMENT,
      Change: 'status running -> successful',
    }),
  ],
  ...more,
});

const sink = { write: () => true, once: () => undefined };
const textOf = (given: TraceSources, colour = false) =>
  new EvaluationTraceText(
    evaluationTrace(given),
    new Display(false, START_MS),
    new Terminal(sink, sink, { colour, interactive: false }),
  );

describe('the trace of an evaluation', () => {
  it('CL-1041: the list', () => {
    expect(textOf(sources()).list(sources().evaluation)).toBe(
      [
        'Evaluation   = 6b4c1d2e',
        'Job          = web',
        'Namespace    = default',
        'Triggered By = job-register',
        'Status       = complete',
        `Trace ID     = ${'4f0a'.repeat(8)}`,
        'Started      = 2026-03-01T10:00:00Z',
        'Total        = 13s',
        'Slowest Step = healthy (10.1s)',
      ].join('\n'),
    );
  });

  it('CL-1041, CL-1042: the time line, in the order of time; moments have no length', () => {
    expect(
      textOf(sources())
        .timeLine()
        .split('\n')
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['Offset', 'Took', 'Service', 'Step', 'Index', 'Details'],
      ['+0s', '3ms', 'api', 'submitted', '<none>', 'actor ci, request 51d0'],
      ['+3ms', '<none>', 'log', 'committed', '812', 'transaction JobRegister'],
      ['+22ms', '<none>', 'log', 'plan committed', '815', 'allocations 1'],
      ['~+22ms', '<none>', 'agent', 'received', '<none>', 'allocation 0f9e8d7c, task redis'],
      ['~+22ms', '2.8s', 'agent', 'started', '817', 'allocation 0f9e8d7c, task redis'],
      ['+25ms', '<none>', 'log', 'completed', '816', 'transaction EvalUpdate'],
      ['~+2.8s', '10.1s', 'agent', 'healthy', '820', 'allocation 0f9e8d7c'],
      ['+13s', '<none>', 'log', 'deployment ok', '821', 'deployment a1b2c3d4'],
    ]);
  });

  it('CL-1042: blocked, unblocked, failed; a refused transaction is no step', () => {
    const records = [
      registered,
      record(813, 10, 'EvalUpdate', { Change: 'status pending -> complete' }, { Verdict: 'refused' }),
      record(814, 20, 'EvalUpdate', { Change: 'status pending -> blocked' }),
      record(820, 900, 'EvalUpdate', { Change: 'status blocked -> pending' }),
      record(822, 950, 'EvalUpdate', { Change: 'status pending -> failed' }),
    ];
    const { Steps } = evaluationTrace(sources({ records, allocs: [], deploymentRecords: [] }));
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
    expect(received).toMatchObject({ Time: planned.Time, ClockSkewed: true });
    expect(Steps.filter(({ ClockSkewed }) => ClockSkewed).every(({ Service }) => Service === 'agent')).toBe(true);
    const many = [300, 900, 100, 700, 500, 200, 800].map((ms) => placed(ms, undefined, `alloc-${ms}`));
    expect(slowestAllocations(many).map(({ ID }) => ID)).toEqual([900, 800, 700, 500, 300].map((ms) => `alloc-${ms}`));
  });

  it('CL-1044: slow steps are yellow; what nobody accounts for is a row', () => {
    const slow = textOf(sources(), true).timeLine().split('\n');
    const yellow = slow.filter((line) => line.startsWith('\u001b[33m'));
    expect(yellow.map((line) => /started|healthy/.exec(line)?.[0])).toEqual(['started', 'healthy']);
    const gap = textOf(
      sources({
        allocs: [],
        deploymentRecords: [record(821, 150, 'X', { Kind: 'deployment', Change: 'status running -> failed' })],
      }),
    );
    expect(gap.timeLine()).toMatch(/^\+25ms +125ms +<none> +\(unaccounted\)/m);
    expect(gap.timeLine()).toMatch(/^\+150ms .*deployment failed/m);
    const close = textOf(
      sources({
        allocs: [],
        deploymentRecords: [record(821, 125, 'X', { Kind: 'deployment', Change: 'status running -> failed' })],
      }),
    );
    expect(close.timeLine()).not.toContain('unaccounted');
  });

  it('CL-1048: steps that are no longer kept are missing, and the trace says so', () => {
    expect(evaluationTrace(sources()).Complete).toBe(true);
    expect(evaluationTrace(sources({ floor: 814, records: [planned, completed] })).Complete).toBe(false);
    expect(evaluationTrace(sources({ evaluation: undefined, floor: 1 })).Complete).toBe(true);
  });

  it.each([
    [0, '0s'],
    [12e6, '12ms'],
    [0.2e6, '<1ms'],
    [1.23e9, '1.2s'],
    [13e9, '13s'],
    [125e9, '2m5s'],
  ])('CL-1041: %d ns as %s', (ns, text) => expect(shortDuration(ns)).toBe(text));
});
