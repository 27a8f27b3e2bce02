import type { EvaluationTrace, TraceStep } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { Display } from '../terminal/display.js';
import { EvaluationTraceText, shortDuration } from './evaluation-trace-text.js';
import { Terminal } from '../terminal/terminal.js';

const EVAL = '6b4c1d2e-0000-4000-8000-000000000001';
const ALLOC = '0f9e8d7c-0000-4000-8000-000000000002';
const START_MS = Date.parse('2026-03-01T10:00:00Z');
const at = (ms: number) => (START_MS + ms) * 1e6;

const step = (Name: string, ms: number, endMs: number, Service: string, Index = 0, Details = {}): TraceStep => ({
  Time: at(ms),
  EndTime: endMs === 0 ? 0 : at(endMs),
  Service,
  Instance: '',
  Name,
  Index,
  ClockSkewed: Service === 'agent',
  Details,
});
const task = { allocation: ALLOC, task: 'redis' };
const trace = (Steps: TraceStep[]): EvaluationTrace => ({
  EvalID: EVAL,
  TraceID: '4f0a'.repeat(8),
  Complete: true,
  Steps,
  Related: [],
});
const whole = trace([
  step('submitted', 0, 3, 'api', 0, { actor: 'ci', request: '51d0' }),
  step('committed', 3, 0, 'log', 812, { transaction: 'JobRegister' }),
  step('plan committed', 22, 0, 'log', 815, { allocations: '1' }),
  step('started', 22, 2_800, 'agent', 817, task),
  step('completed', 25, 0, 'log', 816, { transaction: 'EvalUpdate' }),
  step('healthy', 2_800, 12_900, 'agent', 820, { allocation: ALLOC }),
  step('deployment ok', 13_000, 0, 'log', 821, { deployment: 'a1b2c3d4-0000-4000-8000-000000000004' }),
]);

const sink = { write: () => true, once: () => undefined };
const textOf = (given: EvaluationTrace, colour = false) =>
  new EvaluationTraceText(
    given,
    new Display(false, START_MS),
    new Terminal(sink, sink, { colour, interactive: false }),
  );

describe('the text of a trace', () => {
  it('CL-1041: the list', () => {
    const evaluation = {
      ID: EVAL,
      Status: 'complete',
      JobID: 'web',
      Namespace: 'default',
      TriggeredBy: 'job-register',
      CreateTime: at(0),
      CreateIndex: 812,
    } as const;
    expect(textOf(whole).list(evaluation)).toBe(
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

  it('CL-1041, CL-1043: the time line; moments have no length, times of agents are marked', () => {
    const rows = textOf(whole).timeLine().split('\n');
    expect(rows.map((line) => line.split(/ {2,}/))).toEqual([
      ['Offset', 'Took', 'Service', 'Step', 'Index', 'Details'],
      ['+0s', '3ms', 'api', 'submitted', '<none>', 'actor ci, request 51d0'],
      ['+3ms', '<none>', 'log', 'committed', '812', 'transaction JobRegister'],
      ['+22ms', '<none>', 'log', 'plan committed', '815', 'allocations 1'],
      ['~+22ms', '2.8s', 'agent', 'started', '817', 'allocation 0f9e8d7c, task redis'],
      ['+25ms', '<none>', 'log', 'completed', '816', 'transaction EvalUpdate'],
      ['~+2.8s', '10.1s', 'agent', 'healthy', '820', 'allocation 0f9e8d7c'],
      ['+13s', '<none>', 'log', 'deployment ok', '821', 'deployment a1b2c3d4'],
    ]);
  });

  it('CL-1044: slow steps are yellow; what nobody accounts for is a row', () => {
    const yellow = textOf(whole, true)
      .timeLine()
      .split('\n')
      .filter((line) => line.startsWith('\u001b[33m'));
    expect(yellow.map((line) => /started|healthy/.exec(line)?.[0])).toEqual(['started', 'healthy']);
    const endedAt = (ms: number) =>
      textOf(trace([step('submitted', 0, 3, 'api'), step('deployment failed', ms, 0, 'log', 821)])).timeLine();
    expect(endedAt(104)).toMatch(/^\+3ms +101ms +<none> +\(unaccounted\)/m);
    expect(endedAt(104)).toMatch(/^\+104ms .*deployment failed/m);
    expect(endedAt(103)).not.toContain('unaccounted');
  });

  it('CL-1041, CL-1044: the slowest is what took longest, known or not', () => {
    const waited = trace([step('healthy', 0, 2_000, 'agent'), step('deployment ok', 4_100, 0, 'log', 821)]);
    expect(textOf(waited).list(undefined)).toMatch(/^Slowest Step = \(unaccounted\) \(2\.1s\)$/m);
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
