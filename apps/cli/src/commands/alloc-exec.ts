import { allocationOfJob } from '../allocations/allocation-of-job.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { ArgumentFailure } from '../failure.js';
import { wholeAllocation } from '../allocations/read-allocation.js';
import { OF_JOB_FLAGS } from '../flags/reading-flags.js';
import { commandTask, CONNECTION_FLAGS, connectionOptions, runRemote } from '../server/remote-command.js';
import { ALLOCATION, resolveUuid } from '../server/resolve-uuid.js';

/** Runs a command in a task and connects the terminal to it (CL-431 to CL-434). */
export const command: ServerCommand = {
  usage: '<allocation> <command> [<argument>…]',
  alias: 'exec',
  description:
    'Runs a command beside a task, in its environment, and connects the terminal to it: your input, its output ' +
    'and its exit code. On a terminal, "~." at the start of a line ends the session.\n\nNeeds the capability ' +
    'alloc-exec.',
  flags: [
    { name: 'task', kind: 'text', value: 'task', help: 'The task, if the group has several.' },
    ...OF_JOB_FLAGS,
    ...CONNECTION_FLAGS,
  ],
  takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
  ownArguments: 1,
  run,
};

async function run(call: Call): Promise<number> {
  const { args, flags } = call;
  const [given, ...remote] = args;
  if (given === undefined)
    throw new ArgumentFailure(flags.on('job') ? 'A job ID is required' : 'An allocation ID is required');
  if (remote.length === 0) throw new ArgumentFailure('A command is required');
  const options = connectionOptions(flags);
  const stub = flags.on('job')
    ? await allocationOfJob(call, given)
    : await resolveUuid(
        call.api,
        { ...ALLOCATION, tooShort: 'Alloc ID must contain at least two characters' },
        given,
        Display.of(call),
      );
  const { api, alloc } = await wholeAllocation(call, stub);
  const query = { task: commandTask(call, alloc), command: JSON.stringify(remote) };
  return runRemote(call, api, alloc, { path: `/v1/client/allocation/${alloc.ID}/exec`, query, options });
}
