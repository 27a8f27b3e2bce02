import type { Answer } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { JSON_OUTPUT_FLAG, TEMPLATE_FLAG } from '../terminal/data-printer.js';
import { VERBOSE_FLAG } from '../terminal/display.js';
import { membersOf, plainOf } from '../terminal/exact-json.js';
import { causeOf, failed, isInterrupt } from '../failure.js';
import type { AskingJob } from '../jobs/unmet-requests.js';
import { JobDiffText } from '../jobs/job-diff-text.js';
import { placesOf } from '../jobs/config-faults.js';
import { type JobFile, memberOf, textMember } from '../jobs/job-file.js';
import { apiOf, JOB_INPUT_FLAGS, readJobInput } from '../jobs/job-input.js';
import { dryRunText, type JobPlanAnswer, planExitCode, preemptionTable } from '../jobs/job-plan-text.js';
import { failedGroups } from '../jobs/placement-metrics.js';
import { placementReasons } from '../jobs/placement-reasons.js';
import { printJobWarnings } from '../jobs/job-warnings.js';
import { jobPath } from '../jobs/resolve-job.js';
import { shellFlag, shellWord } from '../terminal/shell-word.js';

/** Exit code of every failure (CL-322). */
const FAILED = 255;

/** Prints the changes that a job file would cause. The exit code tells whether there are any (CL-321 to CL-330). */
export const command: ServerCommand = {
  usage: '<path>',
  alias: 'plan',
  description:
    'Shows what running a job file would change, without changing anything. <path> is a job file, an http:// or ' +
    'https:// URL, or "-" for stdin.\n\nExit codes: 0 no allocation would be created or destroyed; 1 some would; 255 an ' +
    'error.\n\nNeeds the capability submit-job.',
  failureExitCode: FAILED,
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
  const file = await readJobInput(call);
  const regions = regionsOf(file);
  if (regions.length > 0) return planRegions(call, file, regions);
  const { value, exact } = await plan(call, file).catch(async (error: unknown) => {
    const places = await placesOf(apiOf(call.api, file), file, error);
    throw places === '' ? failed('during plan', error) : failed('during plan', `${causeOf(error)}${places}`);
  });
  if (call.data) call.data(exact);
  else {
    await print(call, file, value);
    call.terminal.print(footer(call, value.JobModifyIndex));
  }
  return planExitCode(value);
}

/** Requests a dry run in a region, or where the job and the flags say. */
function plan(call: Call, file: JobFile, region?: string): Promise<Answer<JobPlanAnswer>> {
  const Job = region === undefined ? file.job : { ...file.job, Region: region };
  // The request always includes the diff, because the exit code depends on it.
  const body = { Job, Diff: true, PolicyOverride: call.flags.on('policy-override') };
  return apiOf(call.api, { ...file, job: Job }).put(jobPath(textMember(file.job, 'ID') ?? '', '/plan'), body);
}

/** Plans every region of a multiregion job. All are tried, even if one fails (CL-330). */
async function planRegions(call: Call, file: JobFile, regions: readonly string[]): Promise<number> {
  const { terminal } = call;
  const plans: (readonly [region: string, Answer<JobPlanAnswer>])[] = [];
  for (const region of regions) {
    try {
      plans.push([region, await plan(call, file, region)]);
    } catch (error) {
      if (isInterrupt(error)) throw error;
      terminal.error(`Error during plan for region "${region}": ${causeOf(error)}`);
    }
  }
  if (plans.length < regions.length) return FAILED;
  if (call.data) call.data(Object.fromEntries(plans.map(([region, { exact }]) => [region, exact])));
  else
    for (const [region, { value }] of plans) {
      terminal.print(`${terminal.bold(`Region: "${region}"`)}\n`);
      await print(call, file, value, region);
    }
  return Math.max(...plans.map(([, { value }]) => planExitCode(value)));
}

/** Returns the names of a multiregion job's regions, in their order. */
function regionsOf({ job }: JobFile): string[] {
  const regions = memberOf(membersOf(memberOf(job, 'Multiregion')), 'Regions');
  return (Array.isArray(regions) ? regions : []).map((region) => textMember(membersOf(region), 'Name') ?? '');
}

/** Prints the result of a dry run (CL-321). The caller prints the footer. */
async function print(call: Call, file: JobFile, answer: JobPlanAnswer, region?: string): Promise<void> {
  const { flags, terminal, clock } = call;
  if (flags.on('diff') || !flags.given('diff'))
    terminal.print(`${new JobDiffText(terminal, flags.on('verbose')).of(answer.Diff)}\n`);
  const isSystem = textMember(file.job, 'Type') === 'system';
  const api = region === undefined ? apiOf(call.api, file) : call.api.within({ region });
  const reasons = await placementReasons(
    api,
    () => plainOf(file.job) as AskingJob,
    failedGroups(answer.FailedTGAllocs),
  );
  const red = (text: string) => terminal.red(text);
  terminal.print(terminal.bold('Scheduler dry-run:'));
  terminal.print(`${dryRunText(answer, { isSystem, nowMs: clock.nowMs(), reasons, red })}\n`);
  printJobWarnings(terminal, answer.Warnings);
  const preempted = answer.Annotations?.PreemptedAllocs ?? [];
  if (preempted.length > 0) terminal.print(`${terminal.bold('Preemptions:')}\n${preemptionTable(preempted)}\n`);
}

/** Prints the command that submits the job on the planned index, with the flags of this plan (CL-328). */
function footer({ program, flags, args }: Call, index: number): string {
  const namespace = flags.text('namespace');
  const given = [
    ...flags.list('var').map((value) => `${shellFlag('var', value)} `),
    ...flags.list('var-file').map((file) => `${shellFlag('var-file', file)} `),
    ...(namespace === undefined ? [] : [`${shellFlag('namespace', namespace)} `]),
    ...(flags.given('hcl2-strict') && !flags.on('hcl2-strict') ? ['-hcl2-strict=false '] : []),
  ];
  return (
    `Job Modify Index: ${index}\n` +
    'To submit the job only if nobody changes it in between, run:\n\n' +
    `${program} job run -check-index ${index} ${given.join('')}${shellWord(args[0] ?? '')}\n\n` +
    'With this index the job is registered only while the stored job is the one this plan was made against. If somebody ' +
    'else has changed it, the run is refused, and another plan shows what would happen then.'
  );
}
