import type { ApiClient } from '../server/api-client.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { DETACH_FLAG, VERBOSE_FLAG } from '../terminal/display.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import { CommandFailure, failed } from '../failure.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';
import { readScaleStatus } from '../jobs/scale-status.js';

/** Scales a group of a job and follows the evaluation (CL-337). */
export const command: ServerCommand = {
  usage: '<job> [<group>] <count>',
  description:
    'Changes the count of a group of a job, and watches the evaluation. The group may be omitted if the job has ' +
    'only one.\n\nNeeds the capability scale-job; to watch, read-job.',
  flags: [
    {
      name: 'check-index',
      kind: 'integer',
      value: 'n',
      help: 'Scale only if the job has this modify index. 0 accepts any.',
    },
    DETACH_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 2, max: 3, otherwise: 'Command requires at least two arguments and no more than three' },
  run,
};

async function run(call: Call): Promise<number> {
  const { args, flags, terminal } = call;
  const Count = countOf(args.at(-1) ?? '');
  const found = await resolveJob(call.api, args[0] ?? '');
  const api = call.api.within({ namespace: found.namespace });
  const Group = await groupOf(api, found.id, args.length === 3 ? args[1] : undefined);
  const body = {
    Count,
    Target: { Job: found.id, Group },
    Message: 'submitted using the Waybill CLI',
    JobModifyIndex: flags.integer('check-index') ?? 0,
  };
  const { value } = await api
    .put<{ readonly EvalID: string }>(jobPath(found.id, '/scale'), body)
    .catch((error: unknown) => {
      throw failed('submitting scaling request', error);
    });
  if (value.EvalID !== '' && !flags.on('detach')) return new EvaluationMonitor({ ...call, api }).follow(value.EvalID);
  terminal.print('Job scale successful');
  if (value.EvalID !== '') terminal.print(`Evaluation ID: ${value.EvalID}`);
  return 0;
}

function countOf(text: string): number {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  throw new CommandFailure(`Failed to convert count string to int: "${text}" is not a whole number`);
}

async function groupOf(api: ApiClient, id: string, named: string | undefined): Promise<string> {
  const status = await readScaleStatus(api, id);
  const groups = Object.keys(status.TaskGroups ?? {});
  if (named !== undefined) {
    if (!groups.includes(named)) throw new CommandFailure(`Group ${named} not found within job`);
    return named;
  }
  const [only, ...others] = groups;
  if (only === undefined || others.length > 0) throw new CommandFailure('Group name required');
  return only;
}
