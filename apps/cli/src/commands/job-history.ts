import type { Job } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { JSON_FLAG } from '../display.js';
import { formatExact, membersOf, type ExactJson } from '../exact-json.js';
import { CommandFailure } from '../failure.js';
import { jobVersions } from '../job-versions.js';
import { resolveJob } from '../resolve-job.js';
import { keyValues } from '../table.js';
import { absoluteTime } from '../times.js';

/** CL-351, CL-353; without differences, which the API does not give yet. */
export const command: ServerCommand = {
  usage: '<job>',
  description: 'Shows the kept versions of a job, the newest first.\n\nNeeds the capability read-job.',
  flags: [
    { name: 'full', kind: 'switch', help: 'Print the whole job of each version.' },
    { name: 'version', kind: 'integer', value: 'n', help: 'Only this version.' },
    JSON_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, terminal, args } = call;
  if (flags.on('json') && flags.on('full')) throw new CommandFailure('-json and -t are exclusive with -p and -full');
  const found = await resolveJob(call.api, args[0] ?? '');
  const answer = await jobVersions(call.api.within({ namespace: found.namespace }), found.id);
  const wanted = flags.integer('version');
  const all = (answer.value.Versions ?? []).map((job, i) => ({ job, exact: exactVersion(answer.exact, i) }));
  const versions = all.filter(({ job }) => wanted === undefined || job.Version === wanted);
  if (versions.length === 0) throw new CommandFailure('Error printing job history for non-existing job or job version');
  if (flags.on('json')) terminal.print(formatExact(versions.map(({ exact }) => exact)));
  else terminal.print(versions.map(({ job, exact }) => block(job, flags.on('full') ? exact : undefined)).join('\n\n'));
  return 0;
}

/** The version as the API wrote it, digit for digit. */
function exactVersion(answer: ExactJson, position: number): ExactJson {
  const { Versions } = membersOf(answer);
  return Array.isArray(Versions) ? (Versions[position] ?? null) : null;
}

function block(job: Job, full: ExactJson | undefined): string {
  const tag = job.VersionTag;
  const list = keyValues([
    ['Version', String(job.Version)],
    ['Stable', String(job.Stable)],
    ['Submit Date', absoluteTime(job.SubmitTime)],
    ...(tag
      ? ([
          ['Tag Name', tag.Name],
          ['Tag Description', tag.Description],
        ] as const)
      : []),
  ]);
  return full === undefined ? list : `${list}\nFull = JSON Job:\n${formatExact(full)}`;
}
