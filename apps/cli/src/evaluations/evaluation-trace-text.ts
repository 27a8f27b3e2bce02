import type { EvaluationTrace, TraceStep } from '@waybill/model';
import type { Display } from '../terminal/display.js';
import type { EvaluationAnswer } from './evaluation-table.js';
import { fixedRow, keyValues, table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { absoluteTime } from '../terminal/times.js';

/** A gap between steps is shown if it is longer than this (CL-1044). */
const UNACCOUNTED_NS = 100e6;
/** A step is slow from this duration on, or from this share of the total (CL-1044). */
const SLOW_NS = 1e9;
const SLOW_PART = 0.5;
/** Shown for a step that took less than one millisecond. */
const LESS_NS = 1;
/** Widths of columns for rows that are printed one by one (`-f`). */
const WIDTHS = [9, 7, 11, 16, 7];
const HEADER = ['Offset', 'Took', 'Service', 'Step', 'Index', 'Details'];

/** Formats a duration as exactly as a timeline needs: `12ms`, `1.2s`, `13s`, `2m5s`. */
export function shortDuration(ns: number): string {
  const ms = Math.round(ns / 1e6);
  if (ms < 1_000) return ms === 0 && ns !== 0 ? '<1ms' : ms === 0 ? '0s' : `${ms}ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))}s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

/** The text of a trace (CL-1041, CL-1044, CL-1045). */
export class EvaluationTraceText {
  private readonly startNs: number;
  private readonly totalNs: number;

  constructor(
    private readonly trace: EvaluationTrace,
    private readonly display: Display,
    private readonly terminal: Terminal,
  ) {
    const times = trace.Steps.flatMap(({ Time, EndTime }) => [Time, EndTime || Time]);
    this.startNs = Math.min(...times);
    this.totalNs = times.length === 0 ? 0 : Math.max(...times) - this.startNs;
  }

  /** Lists the properties of the traced evaluation, its total time and its slowest step (CL-1041). */
  list(evaluation: EvaluationAnswer | undefined): string {
    const slowest = this.withGaps().toSorted((a, b) => tookNs(b) - tookNs(a))[0];
    return keyValues([
      ['Evaluation', this.display.id(this.trace.EvalID)],
      ['Job', evaluation?.JobID ?? ''],
      ['Namespace', evaluation?.Namespace ?? ''],
      ['Triggered By', evaluation?.TriggeredBy ?? ''],
      ['Status', evaluation?.Status ?? ''],
      ['Trace ID', this.trace.TraceID],
      ['Started', this.trace.Steps.length === 0 ? '' : absoluteTime(this.startNs)],
      ['Total', shortDuration(this.totalNs)],
      ['Slowest Step', slowest && tookNs(slowest) > 0 ? `${slowest.Name} (${shortDuration(tookNs(slowest))})` : ''],
    ]);
  }

  timeLine(): string {
    const [head = '', ...lines] = table([HEADER, ...this.withGaps().map((step) => this.cells(step))]).split('\n');
    return [head, ...this.withGaps().map((step, at) => this.coloured(step, lines[at] ?? ''))].join('\n');
  }

  /** Returns one step in columns of its own (`-f`). */
  row(step: TraceStep): string {
    return this.coloured(step, fixedRow(this.cells(step), WIDTHS));
  }

  static header(): string {
    return fixedRow(HEADER, WIDTHS);
  }

  /** Lists the related evaluations with their start and duration (CL-1045). */
  related(): string {
    return table([
      ['ID', 'Priority', 'Triggered By', 'Node ID', 'Status', 'Description', 'Started', 'Took'],
      ...this.trace.Related.map((one) => [
        this.display.id(one.ID),
        String(one.Priority),
        one.TriggeredBy,
        this.display.id(one.NodeID),
        one.Status,
        one.StatusDescription ?? '',
        absoluteTime(one.Started),
        shortDuration(one.Took),
      ]),
    ]);
  }

  /** Adds a row for every gap, so that the offsets add up (CL-1044). */
  private withGaps(): TraceStep[] {
    const rows: TraceStep[] = [];
    let covered = this.startNs;
    for (const step of this.trace.Steps) {
      if (step.Time - covered > UNACCOUNTED_NS) rows.push(unaccounted(covered, step.Time));
      rows.push(step);
      covered = Math.max(covered, step.EndTime || step.Time);
    }
    return rows;
  }

  private cells(step: TraceStep): string[] {
    const offset = `${step.ClockSkewed ? '~' : ''}+${shortDuration(step.Time - this.startNs)}`;
    const details = Object.entries(step.Details).map(([name, value]) => `${name} ${this.display.idOrName(value)}`);
    return [
      offset,
      step.EndTime === 0 ? '' : shortDuration(tookNs(step) || LESS_NS),
      step.Service,
      step.Name,
      step.Index === 0 ? '' : String(step.Index),
      details.join(', '),
    ];
  }

  private coloured(step: TraceStep, line: string): string {
    const took = tookNs(step);
    const slow = took >= SLOW_NS || (took > 0 && took >= this.totalNs * SLOW_PART);
    return slow ? this.terminal.coloured('yellow', line) : line;
  }
}

const tookNs = ({ Time, EndTime }: TraceStep): number => (EndTime === 0 ? 0 : EndTime - Time);

const unaccounted = (Time: number, EndTime: number): TraceStep => ({
  Time,
  EndTime,
  Service: '',
  Instance: '',
  Name: '(unaccounted)',
  Index: 0,
  ClockSkewed: false,
  Details: {},
});
