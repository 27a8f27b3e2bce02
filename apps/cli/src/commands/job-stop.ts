import type { Job } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { refusal } from '../terminal/confirmation.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import { causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import { jobPath, type ResolvedJob, resolveJob } from '../jobs/resolve-job.js';

export const command: ServerCommand = {
  usage: '<job>…',
  alias: 'stop',
  description:
    'Stops jobs, given by their IDs or prefixes of them, and watches the evaluations that follow. Several jobs ' +
    'are stopped at the same time.\n\nNeeds the capability submit-job; to watch, read-job.',
  flags: [
    DETACH_FLAG,
    {
      name: 'eval-priority',
      kind: 'integer',
      value: 'n',
      help: "Priority of the evaluation instead of the job's own.",
    },
    { name: 'global', kind: 'switch', help: 'Stop a multi-region job in all its regions.' },
    { name: 'no-shutdown-delay', kind: 'switch', help: 'Ignore the shutdown delays of groups and tasks.' },
    { name: 'purge', kind: 'switch', help: 'Purge the job instead of keeping it as stopped.' },
    { name: 'yes', kind: 'switch', help: 'Do not ask.' },
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: Number.POSITIVE_INFINITY, otherwise: 'This command takes at least one argument: <job>' },
  run: async (call) => {
    const single = call.args.length === 1;
    const codes = await Promise.all(
      call.args.map((given) => stopOne(call, given, single).catch(reportedBy(call, single))),
    );
    return codes.find((code) => code !== 0) ?? 0;
  },
};

/** Reports a failure. If several jobs are stopped, the failure of one does not stop the others (CL-331, CL-1114). */
function reportedBy(call: Call, single: boolean): (error: unknown) => number {
  return (error) => {
    if (single || isInterrupt(error)) throw error;
    call.terminal.error(causeOf(error));
    return error instanceof CommandFailure ? error.exitCode : 1;
  };
}

async function stopOne(call: Call, given: string, single: boolean): Promise<number> {
  const { flags, terminal } = call;
  const found = await resolveJob(call.api, given);
  const api = call.api.within({ namespace: found.namespace });
  if (single && !flags.on('yes')) {
    const question = await questionFor(call, found, api);
    const refused = question === undefined ? undefined : await refusal(call, question, 'Cancelling job stop');
    if (refused !== undefined) return refused;
  }
  const query = {
    purge: flags.on('purge'),
    global: flags.on('global'),
    eval_priority: flags.integer('eval-priority'),
    no_shutdown_delay: flags.on('no-shutdown-delay') || undefined,
  };
  const { value } = await api.delete<{ readonly EvalID: string }>(jobPath(found.id), query).catch((error: unknown) => {
    if (isInterrupt(error)) throw error;
    throw new CommandFailure(`Error deregistering job with id ${given} err: ${causeOf(error)}`);
  });
  if (value.EvalID === '') return 0;
  if (!flags.on('detach')) return new EvaluationMonitor({ ...call, api }).follow(value.EvalID);
  terminal.print(value.EvalID);
  return 0;
}

/** Chooses the question before a stop: for a prefix, or for one region of a multiregion job (CL-332). */
async function questionFor({ flags }: Call, found: ResolvedJob, api: Call['api']): Promise<string | undefined> {
  if (!found.exact) return `Are you sure you want to stop job "${found.id}"?`;
  if (flags.on('global')) return undefined;
  const { value } = await api.get<Pick<Job, 'Multiregion'>>(jobPath(found.id)).catch((error: unknown) => {
    throw failed('querying job', error);
  });
  const regions = value.Multiregion?.Regions ?? [];
  if (regions.length === 0) return undefined;
  return `Are you sure you want to stop multi-region job "${found.id}" in a single region?`;
}
