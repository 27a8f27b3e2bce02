import type { AllocListStub, JobDiff } from '@waybill/model';
import { formatDuration } from '@waybill/model/duration';
import type { EvaluationAnswer } from '../evaluations/evaluation-table.js';
import { failedGroups, failedGroupTitle, type Metrics } from './placement-metrics.js';
import { failureLines, type PlacementReasons } from './placement-reasons.js';
import { table } from '../terminal/table.js';
import { msOf } from '../terminal/times.js';
import { launchText } from './periodic-launch.js';

/** Response of the API to a dry run. */
export interface JobPlanAnswer {
  readonly Annotations: {
    readonly DesiredTGUpdates: Readonly<Record<string, Readonly<Record<string, number>>>> | null;
    readonly PreemptedAllocs: readonly AllocListStub[] | null;
  } | null;
  readonly FailedTGAllocs: Readonly<Record<string, Metrics>> | null;
  readonly JobModifyIndex: number;
  readonly CreatedEvals: readonly EvaluationAnswer[] | null;
  readonly Diff: JobDiff;
  readonly NextPeriodicLaunch: string | null;
  readonly Warnings: string;
}

/** Counters of allocations that would start or stop. */
const CHANGING = ['Stop', 'Place', 'Migrate', 'DestructiveUpdate', 'Canary'];

/** Returns 1 if allocations would start or stop (CL-322). */
export function planExitCode({ Diff, Annotations }: JobPlanAnswer): 0 | 1 {
  if (Diff.Type === 'None') return 0;
  const groups = Object.values(Annotations?.DesiredTGUpdates ?? {});
  return groups.some((desired) => CHANGING.some((counter) => (desired[counter] ?? 0) > 0)) ? 1 : 0;
}

/** Additional inputs for the text of a dry run. */
export interface DryRunContext {
  readonly isSystem: boolean;
  readonly nowMs: number;
  readonly reasons: PlacementReasons;
  readonly red: (text: string) => string;
}

/** Describes whether the dry run placed all allocations, why not, and the next launch (CL-327). */
export function dryRunText(plan: JobPlanAnswer, { isSystem, nowMs, reasons, red }: DryRunContext): string {
  const failures = failedGroups(plan.FailedTGAllocs);
  const lines =
    failures.length === 0
      ? ['- All tasks successfully allocated.']
      : [`- WARNING: Failed to place all allocations${isSystem ? ' on all nodes' : ''}.`];
  for (const failure of failures) {
    lines.push(`  ${failedGroupTitle(...failure)}`);
    for (const item of failureLines(failure, reasons, red).map((line) => `    ${line}`)) lines.push(item);
  }
  const rolling = (plan.CreatedEvals ?? []).find(({ TriggeredBy }) => TriggeredBy === 'rolling-update');
  if (rolling) lines.push(`- Rolling update, next evaluation will be in ${formatDuration(rolling.Wait ?? 0)}.`);
  const { NextPeriodicLaunch: launch } = plan;
  if (msOf(launch) !== undefined)
    lines.push(`- If submitted now, next periodic launch would be at ${launchText(String(launch), nowMs)}.`);
  return lines.join('\n');
}

/** Limit from which preempted allocations, and then their jobs, are only counted (CL-329). */
const MAX_LISTED = 10;

/** Lists preempted allocations singly, or counts them by job or by type if there are many (CL-329). */
export function preemptionTable(allocs: readonly AllocListStub[]): string {
  if (allocs.length < MAX_LISTED)
    return table([
      ['Alloc ID', 'Job ID', 'Task Group'],
      ...allocs.map(({ ID, JobID, TaskGroup }) => [ID, JobID, TaskGroup]),
    ]);
  const jobs = counted(allocs, ({ JobID, Namespace, JobType }) => [JobID, Namespace, JobType]);
  if (jobs.length < MAX_LISTED) return table([['Job ID', 'Namespace', 'Job Type', 'Preemptions'], ...jobs]);
  return table([['Job Type', 'Preemptions'], ...counted(allocs, ({ JobType }) => [JobType])]);
}

/** Returns one row for each distinct set of cells with its count, sorted. */
function counted(allocs: readonly AllocListStub[], cellsOf: (alloc: AllocListStub) => string[]): string[][] {
  const counts = new Map<string, { readonly cells: string[]; n: number }>();
  for (const alloc of allocs) {
    const cells = cellsOf(alloc);
    const seen = counts.get(cells.join('\n')) ?? { cells, n: 0 };
    seen.n++;
    counts.set(cells.join('\n'), seen);
  }
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, { cells, n }]) => [...cells, String(n)]);
}
