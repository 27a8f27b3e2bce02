import type { Job } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { CommandFailure, failed } from '../failure.js';
import { understand } from '../job-restart/between-batches.js';
import { Conversation } from '../job-restart/conversation.js';
import { Interruption } from '../job-restart/interruption.js';
import { JobRestart } from '../job-restart/job-restart.js';
import { type RestartOptions, RESTART_FLAGS, restartOptions } from '../job-restart/options.js';
import {
  type JobVersion,
  type ListedAllocation,
  selectAllocations,
  type Selection,
  type SkipReason,
} from '../job-restart/selection.js';
import { RestartApi } from '../job-restart/server.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/** Job types whose stopped allocations the scheduler replaces (JR-206). */
const REPLACED_TYPES: ReadonlySet<string> = new Set(['batch', 'service', 'system']);

/** The members of a job that this command uses. */
type RestartedJob = Pick<Job, 'ID'> & Partial<Pick<Job, 'Type' | 'Multiregion'>>;

export const command: ServerCommand = {
  usage: '<job>',
  description:
    'Restarts the allocations of a job without changing the job, batch by batch: in place, or with -reschedule by ' +
    'stopping each and waiting until its replacement runs. If it ends early, restarted allocations stay ' +
    'restarted and the others are unchanged.\n\nNeeds the capabilities read-job and alloc-lifecycle; list-jobs for a prefix; ' +
    'with -reschedule on a system job also submit-job.',
  flags: RESTART_FLAGS,
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run,
};

async function run(call: Call): Promise<number> {
  const options = restartOptions(call.flags, call.canAsk);
  const conversation = new Conversation(call);
  const interruption = new Interruption(conversation, call.interrupts);
  const work = restart(call, options, conversation, interruption).catch(async (error: unknown) => {
    // A pending Ctrl-C question is answered first.
    await interruption.passed();
    throw error;
  });
  return Promise.race([interruption.ended, work]);
}

async function restart(
  call: Call,
  options: RestartOptions,
  conversation: Conversation,
  interruption: Interruption,
): Promise<number> {
  const found = await resolveJob(call.api, call.args[0] ?? '');
  const api = call.api.within({ namespace: found.namespace });
  const job = await readApi<RestartedJob>(api, jobPath(found.id), `querying job "${found.id}"`);
  const type = job.Type ?? '';
  if (options.reschedule && !REPLACED_TYPES.has(type))
    throw new CommandFailure(`Jobs of type "${type}" are not allowed to be rescheduled.`);
  await interruption.passed();
  if (!options.yes && !(await mayRestartOneRegion(job, conversation))) {
    conversation.plain('\nJob restart canceled.');
    return 0;
  }
  const versions = await readApi<{ Versions?: JobVersion[] | null }>(
    api,
    jobPath(job.ID, '/versions'),
    `retrieving versions of job "${job.ID}"`,
  );
  const allocs = await readApi<ListedAllocation[] | null>(
    api,
    jobPath(job.ID, '/allocations'),
    `retrieving allocations for job "${job.ID}"`,
    { all: true },
  );
  const { eligible, skipped } = selectAllocations(allocs ?? [], versions.Versions ?? [], options);
  const display = Display.of(call);
  const shown = (id: string) => display.id(id);
  if (options.verbose) for (const skip of skipped) conversation.aside(skipLine(skip, shown));
  if (eligible.length === 0) {
    conversation.plain('No allocations to restart');
    return 0;
  }
  const server = new RestartApi(api, job.ID);
  const { sleep } = call;
  return new JobRestart({ job, options, server, conversation, interruption, sleep, shown }).restart(eligible);
}

/** Reads from the API and names the failed step in an error (JR-204, JR-209). @throws CommandFailure */
async function readApi<T>(api: Call['api'], path: string, doing: string, query = {}): Promise<T> {
  const answer = await api.get<T>(path, query).catch((error: unknown) => {
    throw failed(doing, error);
  });
  return answer.value;
}

/** Asks before a multiregion job is restarted in one region only (JR-208). */
async function mayRestartOneRegion({ ID, Multiregion }: RestartedJob, conversation: Conversation): Promise<boolean> {
  if ((Multiregion?.Regions ?? []).length === 0) return true;
  const question = `Are you sure you want to restart multi-region job "${ID}" in a single region? [y/N]`;
  const answer = await conversation.askUntilUnderstood(question, (given) =>
    understand(given, { emptyMeans: 'no', takesWait: false }),
  );
  return answer === 'yes';
}

/** Describes why an allocation is skipped (JR-310). */
function skipLine({ alloc, because }: Selection['skipped'][number], shown: (id: string) => string): string {
  return `Skipping allocation "${shown(alloc.ID)}" because ${reasonOf(because, alloc, shown)}`;
}

function reasonOf(because: SkipReason, alloc: ListedAllocation, shown: (id: string) => string): string {
  switch (because) {
    case 'not-running':
      return `desired status is "${alloc.DesiredStatus}" and client status is "${alloc.ClientStatus}"`;
    case 'replaced':
      return `it has already been replaced by "${shown(alloc.NextAllocation ?? '')}"`;
    case 'other-group':
      return "it doesn't have any of requested groups";
    case 'no-such-task':
      return "it doesn't have any of requested tasks";
  }
}
