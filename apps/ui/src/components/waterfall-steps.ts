import type { TraceStep } from '../api/contract.js';

/** WaterfallRow is one step with its place on the time axis, from 0 to 1. */
export interface WaterfallRow {
  readonly key: string;
  readonly step: TraceStep;
  /** The task or allocation that the step is about; empty if it is about the evaluation. */
  readonly about: string;
  readonly from: number;
  readonly length: number;
  /** The distance from the beginning, in milliseconds. */
  readonly offsetMs: number;
  /** The duration in milliseconds; undefined for a moment. */
  readonly tookMs: number | undefined;
}

export interface Waterfall {
  readonly rows: readonly WaterfallRow[];
  readonly totalMs: number;
}

const NS_PER_MS = 1e6;
const SHOWN_LETTERS = 8;

/** Puts steps on a common time axis, ordered by their beginning. A step that is told by several traces is shown once. */
export function waterfallOf(steps: readonly TraceStep[]): Waterfall {
  const once = [...new Map(steps.map((step) => [keyOf(step), step])).values()];
  const startNs = Math.min(...once.map(({ Time }) => Time));
  const totalNs = Math.max(0, ...once.map(({ Time, EndTime }) => Math.max(Time, EndTime) - startNs));
  const part = (ns: number): number => (totalNs === 0 ? 0 : ns / totalNs);
  const rows = once
    .toSorted((a, b) => a.Time - b.Time || (a.EndTime || a.Time) - (b.EndTime || b.Time))
    .map((step) => {
      const tookNs = step.EndTime === 0 ? undefined : step.EndTime - step.Time;
      return {
        key: keyOf(step),
        step,
        about: aboutOf(step),
        from: part(step.Time - startNs),
        length: part(tookNs ?? 0),
        offsetMs: (step.Time - startNs) / NS_PER_MS,
        tookMs: tookNs === undefined ? undefined : tookNs / NS_PER_MS,
      };
    });
  return { rows, totalMs: totalNs / NS_PER_MS };
}

/** Returns the steps that an allocation has gone through: its own, and those of the evaluation that placed it. */
export const stepsOfAllocation = (steps: readonly TraceStep[], allocation: string): readonly TraceStep[] =>
  steps.filter(({ Details }) => (Details['allocation'] ?? allocation) === allocation);

function keyOf({ Name, Time, Index, Details }: TraceStep): string {
  return [Name, Time, Index, Details['allocation'] ?? '', Details['task'] ?? ''].join(' ');
}

function aboutOf({ Details: { allocation, task } }: TraceStep): string {
  return [allocation?.slice(0, SHOWN_LETTERS), task].filter(Boolean).join(' ');
}

/** Returns a short duration as exactly as a time line needs: `3 ms`, `1.2 s`, `2 min 5 s`. */
export function durationInWords(ms: number): string {
  if (ms < 1) return ms === 0 ? '0 ms' : '<1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
