import type { JobSubmission } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { type ExactJson, formatExact, membersOf } from '../terminal/exact-json.js';
import { CommandFailure, failed } from '../failure.js';
import { jobVersions } from '../jobs/job-versions.js';
import { jobPath, type ResolvedJob, resolveJob } from '../jobs/resolve-job.js';
import { sortedEntries } from '../terminal/sorted-entries.js';

/** Prints a job, the list of jobs, or the source of a job under `-hcl` (CL-354, CL-355). */
export const command: ServerCommand = {
  usage: '[<job>]',
  alias: 'inspect',
  description: 'Prints a job as it is stored, or its source text.\n\nNeeds the capability read-job.',
  flags: [
    { name: 'hcl', kind: 'switch', help: 'Print the source text of the job.' },
    ...DATA_FLAGS,
    { name: 'version', kind: 'integer', value: 'n', help: 'A retained version.' },
    { name: 'with-vars', kind: 'switch', help: 'With -hcl: print on stderr how to run the text with its variables.' },
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <job>' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, args, terminal } = call;
  if (flags.on('hcl') && call.data) throw new CommandFailure('can only use one of -hcl or -json');
  if (flags.on('with-vars') && !flags.on('hcl')) throw new CommandFailure('can only use -with-vars with -hcl');
  if (args.length === 0) {
    if (!call.data) throw new CommandFailure('This command takes one argument: <job>');
    call.data((await reading(call.api.get('/v1/jobs'))).exact);
    return 0;
  }
  const found = await resolveJob(call.api, args[0] ?? '');
  const api = call.api.within({ namespace: found.namespace });
  const job = await inspected(api, found, flags.integer('version'));
  if (flags.on('hcl')) await printSource(call, api, found, Number(membersOf(job)['Version'] ?? 0));
  else if (call.data) call.data(job);
  else terminal.print(formatExact({ Job: job }));
  return 0;
}

/** Reads the job exactly as the API writes it. */
async function inspected(api: ApiClient, { id }: ResolvedJob, version: number | undefined): Promise<ExactJson> {
  if (version === undefined) return (await reading(api.get(jobPath(id)))).exact;
  const { Versions } = membersOf((await jobVersions(api, id)).exact);
  const found = (Array.isArray(Versions) ? Versions : []).find((job) => membersOf(job)['Version'] === version);
  if (found === undefined)
    throw new CommandFailure(`Error inspecting job: job "${id}" with version ${version} couldn't be found`);
  return found;
}

async function printSource(call: Call, api: ApiClient, found: ResolvedJob, version: number): Promise<void> {
  const { value } = await reading(api.get<JobSubmission>(jobPath(found.id, '/submission'), { version }));
  call.terminal.print(value.Source.replace(/\n$/, ''));
  if (!call.flags.on('with-vars')) return;
  const given = [
    ...sortedEntries(value.VariableFlags).map(([name, text]) => `${name}=${text}`),
    ...value.Variables.split('\n')
      .map((line) => line.replaceAll(/\s/g, ''))
      .filter((line) => line !== ''),
  ];
  const vars = given.map((one) => ` -var '${one.replaceAll("'", `'\\''`)}'`).join('');
  call.terminal.note(`${call.program} job run -namespace=${found.namespace ?? 'default'}${vars} -`);
}

function reading<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw failed('inspecting job', error);
  });
}
