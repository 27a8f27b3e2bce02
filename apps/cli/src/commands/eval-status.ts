import type { AllocListStub, Job } from '@waybill/model';
import { allocationTable } from '../allocations/allocation-table.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import { type EvaluationAnswer, placementFailures } from '../evaluations/evaluation-table.js';
import { failed } from '../failure.js';
import { failedGroups, failedGroupTitle } from '../jobs/placement-metrics.js';
import { failureLines, type PlacementReasons, placementReasons } from '../jobs/placement-reasons.js';
import { planAnnotationTable } from '../jobs/plan-annotations.js';
import { jobPath } from '../jobs/resolve-job.js';
import { EVALUATION, resolveUuid } from '../server/resolve-uuid.js';
import { keyValues, table } from '../terminal/table.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';

export const command: ServerCommand = {
  usage: '<evaluation>',
  description:
    'Shows an evaluation: why it was created, what it placed, and what it could not place.\n\nNeeds the capability ' +
    'read-job.',
  flags: [
    { name: 'monitor', kind: 'switch', help: 'Watch the evaluation until it ends, like "job run".' },
    ...DATA_FLAGS,
    UI_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, terminal, args } = call;
  const display = Display.of(call);
  const found = await resolveUuid(call.api, EVALUATION, args[0] ?? '', display);
  const api = call.api.within({ namespace: found.Namespace });
  if (flags.on('monitor')) return new EvaluationMonitor({ ...call, api }).follow(found.ID);
  const path = `/v1/evaluation/${found.ID}`;
  const querying = (error: unknown): never => {
    throw failed('querying evaluation', error);
  };
  const answer = await api.get<EvaluationAnswer>(path, { related: true }).catch(querying);
  if (call.data) {
    call.data(answer.exact);
    return 0;
  }
  const allocs = await api.get<AllocListStub[] | null>(`${path}/allocations`).catch(querying);
  terminal.print(evaluationKeyValues(answer.value, display));
  const job = async () => (await api.get<Job>(jobPath(answer.value.JobID ?? ''))).value;
  const reasons = await placementReasons(api, job, failedGroups(answer.value.FailedTGAllocs));
  showSections(call, answer.value, { allocs: allocs.value ?? [], reasons, display });
  await webHint(call, 'View this evaluation', `/evaluations?currentEval=${found.ID}`);
  return 0;
}

/** Lists the properties of an evaluation. Empty optional ones are left out (CL-623). */
function evaluationKeyValues(evaluation: EvaluationAnswer, display: Display): string {
  const when = (key: string, value: string | undefined): (readonly [string, string])[] => (value ? [[key, value]] : []);
  const { TriggeredBy = '' } = evaluation;
  return keyValues([
    ['ID', display.id(evaluation.ID)],
    ['Create Time', display.time(evaluation.CreateTime)],
    ['Modify Time', display.time(evaluation.ModifyTime)],
    ['Status', evaluation.Status],
    ['Status Description', evaluation.StatusDescription || evaluation.Status],
    ['Type', evaluation.Type ?? ''],
    ['TriggeredBy', TriggeredBy],
    ['Job ID', evaluation.JobID ?? ''],
    ['Namespace', evaluation.Namespace ?? ''],
    ...(TriggeredBy === 'node-update' ? when('Node ID', display.id(evaluation.NodeID)) : []),
    ...(TriggeredBy === 'max-plan-attempts' ? when('Previous Eval', display.id(evaluation.PreviousEval)) : []),
    ['Priority', String(evaluation.Priority ?? 0)],
    ['Placement Failures', placementFailures(evaluation)],
    ...when('Wait Until', display.time(evaluation.WaitUntil)),
    ...when('Quota Limit Reached', evaluation.QuotaLimitReached),
    ['Previous Eval', display.id(evaluation.PreviousEval)],
    ['Next Eval', display.id(evaluation.NextEval)],
    ['Blocked Eval', display.id(evaluation.BlockedEval)],
  ]);
}

/** Prints the sections of an evaluation that are not empty (CL-624). */
function showSections(
  { terminal }: Call,
  evaluation: EvaluationAnswer,
  {
    allocs,
    reasons,
    display,
  }: { readonly allocs: readonly AllocListStub[]; readonly reasons: PlacementReasons; readonly display: Display },
): void {
  const section = (title: string, text: string) => {
    terminal.section(title);
    terminal.print(text);
  };
  const related = evaluation.RelatedEvals ?? [];
  if (related.length > 0) section('Related Evaluations', relatedTable(related, display));
  const updates = evaluation.PlanAnnotations?.DesiredTGUpdates ?? {};
  if (Object.keys(updates).length > 0) section('Plan Annotations', planAnnotationTable(updates, display.verbose));
  // This table never has the wide columns (CL-624).
  const narrow = new Display(false, display.nowMs);
  const preempted = evaluation.PlanAnnotations?.PreemptedAllocs ?? [];
  if (preempted.length > 0) section('Preempted Allocations', allocationTable(preempted, narrow));
  if (allocs.length > 0) section('Placed Allocations', allocationTable(allocs, narrow));
  const failures = failedGroups(evaluation.FailedTGAllocs);
  if (failures.length === 0) return;
  terminal.section('Failed Placements');
  for (const failure of failures) {
    terminal.print(failedGroupTitle(...failure));
    for (const line of failureLines(failure, reasons, (text) => terminal.red(text))) terminal.print(`  ${line}`);
  }
  if (evaluation.BlockedEval)
    terminal.print(
      `\nEvaluation "${display.id(evaluation.BlockedEval)}" waiting for additional capacity to place remainder`,
    );
  const missing = evaluation.MissingNonNodeResources ?? [];
  if (missing.length > 0) section('Missing Resources', missing.map((name) => `  ${name}`).join('\n'));
}

const relatedTable = (related: NonNullable<EvaluationAnswer['RelatedEvals']>, display: Display): string =>
  table([
    ['ID', 'Priority', 'Triggered By', 'Node ID', 'Status', 'Description'],
    ...related.map((e) => [
      display.id(e.ID),
      String(e.Priority),
      e.TriggeredBy,
      display.id(e.NodeID),
      e.Status,
      e.StatusDescription ?? '',
    ]),
  ]);
