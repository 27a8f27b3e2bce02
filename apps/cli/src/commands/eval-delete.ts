import type { Call, ServerCommand } from '../command-spec.js';
import { refusal } from '../terminal/confirmation.js';
import type { ExactJson } from '../terminal/exact-json.js';
import { CommandFailure, failed } from '../failure.js';
import { CONFIGURATION_PATH, type ConfigurationAnswer } from '../operator/scheduler-configuration.js';

export const command: ServerCommand = {
  usage: '[<evaluation>]',
  description:
    'Deletes an evaluation by its full ID, or all evaluations that match a filter and that nothing depends on. ' +
    'The broker must be paused meanwhile. Meant for emergencies: garbage collection removes ended ' +
    'evaluations.\n\nNeeds a management token.',
  flags: [
    {
      name: 'filter',
      kind: 'text',
      value: 'expression',
      help: 'Delete all matching evaluations instead of one by its ID.',
    },
    { name: 'yes', kind: 'switch', help: 'Do not ask.' },
  ],
  // The message for a wrong number of arguments depends on the flags (CL-626).
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  run,
};

async function run(call: Call): Promise<number> {
  const { api, flags, args, terminal } = call;
  const filter = flags.text('filter');
  checkArguments(args, filter);
  if (!(await isPaused(call))) {
    const set = `${call.program} operator scheduler set-config -pause-eval-broker`;
    terminal.error('Eval broker is not paused');
    terminal.print(`To delete evaluations you must first pause the eval broker by running "${set}=true"`);
    terminal.print(`After the deletion is complete, unpause the eval broker by running "${set}=false"`);
    return 1;
  }
  if (filter !== undefined && !flags.on('yes')) {
    const refused = await asked(call, filter);
    if (refused !== undefined) return ended(call, 0, refused);
  }
  const body: ExactJson = filter === undefined ? { EvalIDs: [...args] } : { Filter: filter };
  const { value } = await api
    .delete<{ readonly Count: number }>('/v1/evaluations', {}, body)
    .catch((error: unknown) => deleting(error));
  return ended(call, value.Count, 0);
}

/** Checks that there is either one ID or a filter (CL-626). @throws CommandFailure */
function checkArguments(args: readonly string[], filter: string | undefined): void {
  const wrong = (why: string): never => {
    throw new CommandFailure(`Error validating command args and flags: ${why}`);
  };
  if ((args.length === 0) === (filter === undefined)) wrong('evaluation ID or filter flag required');
  if (args.length > 1) wrong(`expected 1 argument, got ${args.length}`);
}

/** Reads whether the broker is paused. Evaluations can be deleted only then (CL-627). */
async function isPaused({ api }: Call): Promise<boolean> {
  const { value } = await api.get<ConfigurationAnswer>(CONFIGURATION_PATH).catch((error: unknown) => {
    throw failed('querying scheduler configuration', error);
  });
  return value.SchedulerConfig.PauseEvalBroker;
}

/** Asks before deleting by filter (CL-628). Returns undefined to go on, otherwise the exit code. */
async function asked(call: Call, filter: string): Promise<number | undefined> {
  const { value } = await call.api
    .get<{ readonly Count: number }>('/v1/evaluations/count', { filter })
    .catch((error: unknown) => deleting(error));
  const question = `Are you sure you want to delete ${value.Count} evals?`;
  const refused = await refusal(call, question, 'Cancelling eval deletion');
  call.terminal.print('');
  return refused;
}

function deleting(error: unknown): never {
  throw failed('deleting evaluations', error);
}

function ended({ terminal }: Call, count: number, exitCode: number): number {
  if (count === 0) terminal.print('No evaluations were deleted');
  else terminal.print(`Successfully deleted ${count} ${count === 1 ? 'evaluation' : 'evaluations'}`);
  return exitCode;
}
