import type { PeriodicConfig } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import { AnswerFailure } from '../server/api-failure.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import { type ExactJson, formatExact, membersOf } from '../terminal/exact-json.js';
import { causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { placesOf } from '../jobs/config-faults.js';
import { type JobFile, memberOf, textMember } from '../jobs/job-file.js';
import { apiOf, JOB_INPUT_FLAGS, readJobInput } from '../jobs/job-input.js';
import { afterRegistration } from '../jobs/job-registered.js';
import { printJobWarnings } from '../jobs/job-warnings.js';
import { jobPage, UI_FLAG, webHint } from '../server/web-hint.js';

interface Registered {
  readonly EvalID: string;
  readonly Warnings?: string;
}

export const command: ServerCommand = {
  usage: '<path>',
  alias: 'run',
  description:
    'Runs a new job or updates one, then watches the evaluation and the deployment that follow. <path> is a job file, ' +
    'an http:// or https:// URL, or "-" for stdin.\n\nExit codes: 0 done; 1 refused, or the deployment did not succeed; ' +
    '2 not everything could be placed.\n\nNeeds the capability submit-job; to watch, read-job.',
  flags: [
    {
      name: 'check-index',
      kind: 'text',
      value: 'n',
      help: 'Register only if the job has this modify index. 0 requires a new job.',
    },
    DETACH_FLAG,
    {
      name: 'eval-priority',
      kind: 'integer',
      value: 'n',
      help: "Priority of the evaluation instead of the job's own.",
    },
    ...JOB_INPUT_FLAGS,
    { name: 'output', kind: 'switch', help: 'Print the request as JSON and send nothing.' },
    { name: 'preserve-counts', kind: 'switch', help: 'Keep the counts of the running groups.' },
    { name: 'preserve-resources', kind: 'switch', help: 'Keep the resources of the running tasks.' },
    UI_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <path>' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, terminal } = call;
  const enforced = checkIndex(flags.text('check-index'));
  const file = await readJobInput(call);
  if (flags.on('output')) {
    terminal.print(formatExact({ Job: file.job }));
    return 0;
  }
  const api = apiOf(call.api, file);
  return registered({ ...call, api }, file, await register(api, file, request(call, file, enforced)));
}

/** Parses `-check-index` (CL-302). @throws CommandFailure */
function checkIndex(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new CommandFailure(`Error parsing check-index value "${text}": not a whole number`);
}

/** Builds the request: the job, its source as submission, and the index to enforce if one is given (CL-255, CL-302). */
function request({ flags }: Call, { job, submission }: JobFile, enforced: number | undefined): ExactJson {
  return {
    Job: job,
    Submission: { ...submission },
    EnforceIndex: enforced !== undefined,
    JobModifyIndex: enforced ?? 0,
    PolicyOverride: flags.on('policy-override'),
    PreserveCounts: flags.on('preserve-counts'),
    PreserveResources: flags.on('preserve-resources'),
    EvalPriority: flags.integer('eval-priority') ?? 0,
  };
}

/** Registers the job. A refused index has a message of its own (CL-303). @throws CommandFailure */
async function register(
  api: ApiClient,
  file: JobFile,
  body: ExactJson,
): Promise<{ value: Registered; traceId: string }> {
  try {
    return await api.put<Registered>('/v1/jobs', body);
  } catch (error) {
    if (isInterrupt(error)) throw error;
    const said = error instanceof AnswerFailure ? error.body : '';
    const enforcing = said.indexOf('Enforcing job modify index');
    if (enforcing === -1) throw failed('submitting job', `${causeOf(error)}${await placesOf(api, file, error)}`);
    throw new CommandFailure(`${said.slice(enforcing)}\nJob not updated`);
  }
}

/**
 * Prints warnings and the outcome of a registration, then follows the evaluation unless detached (CL-166, CL-304,
 * CL-305).
 */
async function registered(
  call: Call,
  { job }: JobFile,
  answer: { value: Registered; traceId: string },
): Promise<number> {
  const { flags, terminal } = call;
  const { EvalID, Warnings } = answer.value;
  printJobWarnings(terminal, Warnings);
  if (flags.on('verbose') && answer.traceId !== '') terminal.print(`Trace ID: ${answer.traceId}`);
  const membersAt = (name: string) => membersOf(memberOf(job, name));
  const has = (name: string) => Object.keys(membersAt(name)).length > 0;
  return afterRegistration(
    call,
    {
      periodic: has('Periodic') ? periodicOf(membersAt('Periodic')) : undefined,
      parameterised: has('ParameterizedJob'),
      multiregion: has('Multiregion'),
      evalId: EvalID,
    },
    'Job registration successful',
    (options) => webHint(call, 'View this job', jobPage(textMember(job, 'ID') ?? '', namespaceOf(call, job)), options),
  );
}

/** Returns the namespace of the registered job. */
const namespaceOf = ({ api }: Call, job: JobFile['job']): string =>
  textMember(job, 'Namespace') ?? api.connection.namespace ?? 'default';

/** Returns the schedule of a job file, where members may be missing. */
function periodicOf(given: { [member: string]: ExactJson }): PeriodicConfig {
  const text = (name: string) => textMember(given, name) ?? '';
  const specs = memberOf(given, 'Specs');
  return {
    Enabled: memberOf(given, 'Enabled') !== false,
    Spec: text('Spec'),
    Specs: Array.isArray(specs) ? specs.map(String) : null,
    SpecType: 'cron',
    ProhibitOverlap: memberOf(given, 'ProhibitOverlap') === true,
    TimeZone: text('TimeZone'),
  };
}
