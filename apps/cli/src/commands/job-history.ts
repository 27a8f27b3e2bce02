import type { Job, JobDiff } from '@waybill/model';
import type { Query } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { formatExact, membersOf, type ExactJson } from '../terminal/exact-json.js';
import { CommandFailure } from '../failure.js';
import { JobDiffText } from '../jobs/job-diff-text.js';
import { jobVersions } from '../jobs/job-versions.js';
import { resolveJob } from '../jobs/resolve-job.js';
import { keyValues } from '../terminal/table.js';
import { absoluteTime } from '../terminal/times.js';

/** Shows the versions of a job, newest first, optionally with their differences or the whole job (CL-351 to CL-353). */
export const command: ServerCommand = {
  usage: '<job>',
  description: 'Lists the retained versions of a job, newest first.\n\nNeeds the capability read-job.',
  flags: [
    {
      name: 'diff-tag',
      kind: 'text',
      value: 'tag',
      help: 'With -p: compare every version with the one with this name.',
    },
    { name: 'diff-version', kind: 'integer', value: 'n', help: 'With -p: compare every version with this one.' },
    { name: 'p', kind: 'switch', help: 'Show what each version changed.' },
    { name: 'full', kind: 'switch', help: 'Print the whole job of each version.' },
    { name: 'version', kind: 'integer', value: 'n', help: 'Only this version.' },
    ...DATA_FLAGS,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run,
};

async function run(call: Call): Promise<number> {
  const { flags, terminal, args } = call;
  checkFlags(call);
  const found = await resolveJob(call.api, args[0] ?? '');
  const answer = await jobVersions(call.api.within({ namespace: found.namespace }), found.id, diffQuery(call));
  const wanted = flags.integer('version');
  const all = (answer.value.Versions ?? []).map((job, i) => ({
    job,
    exact: exactVersion(answer.exact, i),
    diff: answer.value.Diffs?.[i],
  }));
  const versions = all.filter(({ job }) => wanted === undefined || job.Version === wanted);
  if (versions.length === 0) throw new CommandFailure('Error printing job history for non-existing job or job version');
  if (call.data) call.data(versions.map(({ exact }) => exact));
  else
    terminal.print(
      versions
        .map(({ job, exact, diff }) =>
          [block(job, flags.on('full') ? exact : undefined), ...diffLines(call, diff)].join('\n'),
        )
        .join('\n\n'),
    );
  return 0;
}

/** Refuses flags that exclude each other (CL-353). @throws CommandFailure */
function checkFlags({ flags, data }: Call): void {
  const compares = flags.given('diff-version') || flags.text('diff-tag') !== undefined;
  if (data && (flags.on('full') || flags.on('p')))
    throw new CommandFailure('-json and -t are exclusive with -p and -full');
  if (compares && !flags.on('p')) throw new CommandFailure('-diff-tag and -diff-version can only be used with -p');
  if (flags.given('diff-version') && flags.text('diff-tag') !== undefined)
    throw new CommandFailure('-diff-tag and -diff-version are mutually exclusive');
}

/** Requests differences only with `-p`: to the given version or tag, otherwise to the predecessor (CL-352). */
function diffQuery({ flags }: Call): Query {
  if (!flags.on('p')) return {};
  return { diffs: true, diff_version: flags.integer('diff-version'), diff_tag: flags.text('diff-tag') };
}

function diffLines({ terminal }: Call, diff: JobDiff | undefined): string[] {
  if (!diff || diff.Type === 'None') return [];
  return ['Diff', new JobDiffText(terminal, false).of(diff)];
}

/** Returns the version exactly as the API wrote it. */
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
