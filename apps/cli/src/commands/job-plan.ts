import type { Call, ServerCommand } from '../command-spec.js';
import { JSON_OUTPUT_FLAG, TEMPLATE_FLAG } from '../data-printer.js';
import { VERBOSE_FLAG } from '../display.js';
import { failed } from '../failure.js';
import { JobDiffText } from '../job-diff-text.js';
import { type JobFile, textMember } from '../job-file.js';
import { apiOf, JOB_INPUT_FLAGS, readJobInput } from '../job-input.js';
import { dryRunText, type JobPlanAnswer, planExitCode, preemptionTable } from '../job-plan-text.js';
import { printJobWarnings } from '../job-warnings.js';
import { jobPath } from '../resolve-job.js';

/** CL-321 to CL-329. */
export const command: ServerCommand = {
  usage: '<path>',
  alias: 'plan',
  description:
    'Shows what running a job file would change, without changing anything. <path> is a job file, an http:// or ' +
    'https:// URL, or "-" for stdin.\n\nExit codes: 0 no allocation would be created or destroyed; 1 some would; 255 an ' +
    'error.\n\nNeeds the capability submit-job.',
  failureExitCode: 255,
  flags: [
    ...JOB_INPUT_FLAGS,
    { name: 'diff', kind: 'switch', help: 'Show how the job differs from the stored one (the default).' },
    JSON_OUTPUT_FLAG,
    TEMPLATE_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <path>' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags } = call;
  const file = await readJobInput(call);
  // The diff is always asked for: the exit code depends on it.
  const body = { Job: file.job, Diff: true, PolicyOverride: flags.on('policy-override') };
  const { value, exact } = await apiOf(call.api, file)
    .put<JobPlanAnswer>(jobPath(textMember(file.job, 'ID') ?? '', '/plan'), body)
    .catch((error: unknown) => {
      throw failed('during plan', error);
    });
  if (call.data) call.data(exact);
  else print(call, file, value);
  return planExitCode(value);
}

/** CL-321. */
function print(call: Call, file: JobFile, plan: JobPlanAnswer): void {
  const { flags, terminal, clock } = call;
  if (flags.on('diff') || !flags.given('diff'))
    terminal.print(`${new JobDiffText(terminal, flags.on('verbose')).of(plan.Diff)}\n`);
  const system = textMember(file.job, 'Type') === 'system';
  terminal.print(terminal.bold('Scheduler dry-run:'));
  terminal.print(`${dryRunText(plan, system, clock.nowMs(), (text) => terminal.red(text))}\n`);
  printJobWarnings(terminal, plan.Warnings);
  const preempted = plan.Annotations?.PreemptedAllocs ?? [];
  if (preempted.length > 0) terminal.print(`${terminal.bold('Preemptions:')}\n${preemptionTable(preempted)}\n`);
  terminal.print(footer(call, plan.JobModifyIndex));
}

/** CL-328. */
function footer({ program, flags, args }: Call, index: number): string {
  const namespace = flags.text('namespace');
  const given = [
    ...flags.list('var').map((value) => `-var="${value}" `),
    ...flags.list('var-file').map((file) => `-var-file="${file}" `),
    ...(namespace === undefined ? [] : [`-namespace="${namespace}" `]),
    ...(flags.given('hcl2-strict') && !flags.on('hcl2-strict') ? ['-hcl2-strict=false '] : []),
  ];
  return (
    `Job Modify Index: ${index}\n` +
    'To submit the job only if nobody changes it in between, run:\n\n' +
    `${program} job run -check-index ${index} ${given.join('')}${args[0] ?? ''}\n\n` +
    'With this index the job is registered only while the stored job is the one this plan was made against. If somebody ' +
    'else has changed it, the run is refused, and another plan shows what would happen then.'
  );
}
