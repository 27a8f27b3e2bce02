import { allocationOfJob } from '../allocations/allocation-of-job.js';
import type { Call, ServerCommand } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { ArgumentFailure } from '../failure.js';
import { readAllocation, type ReadAllocation, wholeAllocation } from '../allocations/read-allocation.js';
import { commandTask, CONNECTION_FLAGS, connectionOptions, runRemote } from '../server/remote-command.js';
import { jobPath, resolveJob } from '../jobs/resolve-job.js';

/** Runs an action of a job as `alloc exec` runs a command (CL-344). */
export const command: ServerCommand = {
  usage: '-job=<job> (-alloc=<allocation> | -group=<group> -task=<task>) <action>',
  alias: 'action',
  description:
    'Runs a command that the author of the job prepared for a task (its action blocks), and connects the ' +
    "terminal to it, like alloc exec. The exit code is the command's.\n\nNeeds the capability alloc-exec.",
  flags: [
    { name: 'job', kind: 'text', value: 'job', help: 'The job that has the action.' },
    {
      name: 'alloc',
      kind: 'text',
      value: 'allocation',
      help: 'Where it runs; else in a running allocation of the group.',
    },
    { name: 'group', kind: 'text', value: 'group', help: 'The task group.' },
    { name: 'task', kind: 'text', value: 'task', help: 'The task. May be omitted if the allocation has only one.' },
    ...CONNECTION_FLAGS,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes one argument: <action>' },
  ownArguments: 1,
  run,
};

async function run(call: Call): Promise<number> {
  const { args, flags } = call;
  const [action] = args;
  const [job, allocation] = [flags.text('job'), flags.text('alloc')];
  if (action === undefined || action === '') throw new ArgumentFailure('An action name is required');
  if (job === undefined) throw new ArgumentFailure('A job ID is required');
  for (const place of ['group', 'task'])
    if (allocation === undefined && flags.text(place) === undefined)
      throw new ArgumentFailure(`A ${place} name is required if no allocation is provided`);
  const options = connectionOptions(flags);
  const { id } = await resolveJob(call.api, job);
  const { api, alloc } = await allocationFor(call, job, allocation);
  const query = { action, allocID: alloc.ID, group: alloc.TaskGroup, task: commandTask(call, alloc) };
  return runRemote(call, api, alloc, { path: jobPath(id, '/action'), query, options });
}

async function allocationFor(call: Call, job: string, given: string | undefined): Promise<ReadAllocation> {
  if (given !== undefined) return readAllocation(call, given, Display.of(call));
  return wholeAllocation(call, await allocationOfJob(call, job, 'newest'));
}
