import type { Job, JobSubmission } from '@waybill/model';
import { isMultiregion } from '@waybill/model/multiregion';
import type { ApiClient } from '../server/api-client.js';
import { isNotFound } from '../server/api-failure.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import { type ExactJson, exactOf, membersOf } from '../terminal/exact-json.js';
import { CommandFailure, failed } from '../failure.js';
import { jobFromJson } from '../jobs/job-file.js';
import { afterRegistration } from '../jobs/job-registered.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

type Members = { [member: string]: ExactJson };

/** Registers a stopped job again, with its scaling policies enabled again (CL-334). */
export const command: ServerCommand = {
  usage: '<job>',
  alias: 'start',
  description:
    'Starts a stopped job again, unchanged, and watches the evaluation.\n\nNeeds the capability submit-job; to ' +
    'watch, read-job.',
  flags: [DETACH_FLAG, VERBOSE_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <job>' },
  run,
};

async function run(call: Call): Promise<number> {
  const found = await resolveJob(call.api, call.args[0] ?? '');
  const api = call.api.within({ namespace: found.namespace });
  const { value: job, exact } = await api.get<Job>(jobPath(found.id)).catch((error: unknown) => {
    throw failed('querying job', error);
  });
  if (!job.Stop) throw new CommandFailure(`Job "${job.Name}" has not been stopped`);
  const submission = await submissionOf(api, job);
  if (isScaled(job) && !submission)
    call.terminal.warn('The text of the job is not kept any more: its scaling policies stay switched off');
  const body = {
    Job: { ...(await formOf(job, membersOf(exact), submission)), Stop: false },
    ...(submission ? { Submission: exactOf(submission) } : {}),
  };
  const { value } = await api.put<{ readonly EvalID: string }>('/v1/jobs', body).catch((error: unknown) => {
    throw failed('starting job', error);
  });
  return afterRegistration(
    { ...call, api },
    {
      periodic: job.Periodic ?? undefined,
      parameterised: Boolean(job.ParameterizedJob),
      multiregion: Boolean(job.Multiregion),
      evalId: value.EvalID,
    },
    'Job start successful',
  );
}

/**
 * Returns the job to register. A multiregion job is taken from its source, because the stored job is the form of one
 * region. @throws CommandFailure
 */
async function formOf(job: Job, stored: Members, submission: JobSubmission | undefined): Promise<Members> {
  if (isMultiregion(job)) {
    if (submission) return { ...membersOf(await jobOfText(submission)), ID: job.ID, Namespace: job.Namespace };
    throw new CommandFailure(
      'The text of the job is not kept any more, and each of its regions has a form of its own: run it from its file',
    );
  }
  return isScaled(job) && submission ? withScaling(stored, scalingSwitches(await jobOfText(submission))) : stored;
}

const isScaled = (job: Job): boolean => (job.TaskGroups ?? []).some(({ Scaling }) => Scaling);

async function submissionOf(api: ApiClient, { ID, Version }: Job): Promise<JobSubmission | undefined> {
  try {
    return (await api.get<JobSubmission>(jobPath(ID, '/submission'), { version: Version })).value;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw failed('querying job submission', error);
  }
}

/** Decodes the job from its submitted source. */
async function jobOfText({ Source, Format, Variables, VariableFlags }: JobSubmission): Promise<ExactJson> {
  if (Format === 'json') return jobFromJson(Source);
  const { parseJob } = await import('@waybill/jobspec');
  const { job } = parseJob({
    file: { name: 'job.nomad.hcl', text: Source },
    variableFiles: [{ name: 'variables', text: Variables }],
    environment: VariableFlags ?? {},
  });
  return exactOf(job);
}

/** Returns for each group whether the job's source enables its scaling. */
function scalingSwitches(job: ExactJson): Map<string, boolean> {
  const groups = Object(job) as {
    readonly TaskGroups?: readonly { Name: string; Scaling?: { Enabled?: boolean | null } | null }[];
  };
  return new Map(
    (groups.TaskGroups ?? []).flatMap(({ Name, Scaling }) => (Scaling ? [[Name, Scaling.Enabled ?? true]] : [])),
  );
}

function withScaling(job: Members, switches: ReadonlyMap<string, boolean>): Members {
  const groups = job['TaskGroups'];
  if (switches.size === 0 || !Array.isArray(groups)) return job;
  return {
    ...job,
    TaskGroups: groups.map((group) => {
      const members = membersOf(group);
      const name = members['Name'];
      const Enabled = typeof name === 'string' ? switches.get(name) : undefined;
      return Enabled === undefined ? members : { ...members, Scaling: { ...membersOf(members['Scaling']), Enabled } };
    }),
  };
}
