import type { AllocListStub, Job, JobSummary } from '@waybill/model';
import type { Call } from '../command-spec.js';
import type { ApiClient } from '../server/api-client.js';
import type { Display } from '../terminal/display.js';
import type { EvaluationAnswer } from '../evaluations/evaluation-table.js';
import { isInterrupt } from '../failure.js';
import { failedGroups } from './placement-metrics.js';
import { failureLines, placementReasons } from './placement-reasons.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { table } from '../terminal/table.js';
import { msOf } from '../terminal/times.js';

/** Number of groups with failed placements in a job's status (CL-315). */
const MAX_FAILED_GROUPS = 5;

/** Counts the allocations of each task group, sorted by group (CL-313). */
export function jobSummaryTable(summary: JobSummary): string {
  const groups = sortedEntries(summary.Summary);
  return table([
    ['Task Group', 'Queued', 'Starting', 'Running', 'Failed', 'Complete', 'Lost', 'Unknown'],
    ...groups.map(([name, g]) => [
      name,
      ...[g.Queued, g.Starting, g.Running, g.Failed, g.Complete, g.Lost, g.Unknown].map((n) => String(n ?? 0)),
    ]),
  ]);
}

export function childrenTable(summary: JobSummary): string {
  const { Pending = 0, Running = 0, Dead = 0 } = summary.Children ?? {};
  return table([
    ['Pending', 'Running', 'Dead'],
    [String(Pending), String(Running), String(Dead)],
  ]);
}

/**
 * Returns why the newest failed evaluation could not place allocations, or undefined if no evaluation is blocked
 * (CL-315).
 */
export async function blockedPlacements(
  { api, program, terminal }: Pick<Call, 'api' | 'program' | 'terminal'>,
  job: Job,
  evaluations: readonly EvaluationAnswer[],
): Promise<string | undefined> {
  if (!evaluations.some((e) => e.Status === 'blocked')) return undefined;
  const [latest] = evaluations
    .filter((e) => Object.keys(e.FailedTGAllocs ?? {}).length > 0)
    .toSorted((a, b) => (b.CreateIndex ?? 0) - (a.CreateIndex ?? 0));
  if (!latest) return undefined;
  const groups = failedGroups(latest.FailedTGAllocs);
  const failures = groups.slice(0, MAX_FAILED_GROUPS);
  const reasons = await placementReasons(api, () => job, failures);
  const red = (text: string) => terminal.red(text);
  const shown = failures.map((failure) =>
    [`Task Group "${failure[0]}":`, ...failureLines(failure, reasons, red).map((line) => `  ${line}`)].join('\n'),
  );
  if (groups.length > MAX_FAILED_GROUPS)
    shown.push(`Placement failures truncated. To see remainder run:\n${program} eval-status ${latest.ID}`);
  return shown.join('\n\n');
}

/** Returns the groups whose newest allocation waits for rescheduling (CL-316). Cost: one read for each such group. */
export async function upcomingReschedules(
  api: ApiClient,
  allocations: readonly AllocListStub[],
  display: Display,
): Promise<string[][]> {
  const newest = new Map<string, AllocListStub>();
  for (const alloc of allocations) {
    const before = newest.get(alloc.TaskGroup);
    if (!before || alloc.ModifyTime > before.ModifyTime) newest.set(alloc.TaskGroup, alloc);
  }
  const waiting = [...newest.values()].filter((alloc) => alloc.FollowupEvalID !== '');
  const rows = await Promise.all(
    waiting.map(async ({ TaskGroup, FollowupEvalID }) => {
      const evaluation = await api.get<EvaluationAnswer>(`/v1/evaluation/${FollowupEvalID}`).catch((error: unknown) => {
        if (isInterrupt(error)) throw error;
        return undefined;
      });
      const until = evaluation?.value.WaitUntil;
      if ((msOf(until) ?? 0) <= display.nowMs) return [];
      return [[TaskGroup, display.id(FollowupEvalID), display.time(until)]];
    }),
  );
  return rows.flat().toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
}

/** Lists the actions of all tasks (CL-317, part 8). */
export function actionRows(job: Job): string[][] {
  return (job.TaskGroups ?? []).flatMap((group) =>
    (group.Tasks ?? []).flatMap((task) => (task.Actions ?? []).map(({ Name }) => [Name, group.Name, task.Name])),
  );
}
