import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { causeOf, CommandFailure, isInterrupt } from '../failure.js';
import { readAllocation } from '../allocations/read-allocation.js';
import { mustHaveTask } from '../allocations/task-of-allocation.js';

export const command: ServerCommand = {
  usage: '<allocation> [<task>]',
  description:
    'Restarts tasks of an allocation in place: one task, all running tasks, or with -all-tasks also ended tasks, ' +
    'in their order. Returns when the old processes have ended.\n\nNeeds the capabilities alloc-lifecycle, ' +
    'read-job and list-jobs.',
  flags: [
    { name: 'all-tasks', kind: 'switch', help: 'Restart ended tasks too.' },
    { name: 'task', kind: 'text', value: 'task', help: 'Restart this task only.' },
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 2, otherwise: 'This command takes one or two arguments: <alloc-id> <task-name>' },
  run,
};

/** Restarts an allocation or one of its tasks with a single call (JR-991 to JR-994). */
async function run(call: Call): Promise<number> {
  const { flags, args } = call;
  const [given = '', argument] = args;
  const task = flags.text('task') ?? argument ?? '';
  const allTasks = flags.on('all-tasks');
  if (task !== '' && allTasks)
    throw new CommandFailure('The -all-tasks option is not allowed when restarting a specific task.');
  const { api, alloc } = await readAllocation(call, given, Display.of(call));
  if (task !== '') mustHaveTask(alloc, task);
  const body = { TaskName: task, AllTasks: allTasks };
  await api.put(`/v1/client/allocation/${alloc.ID}/restart`, body).catch((error: unknown) => {
    if (isInterrupt(error)) throw error;
    throw new CommandFailure(`Failed to restart ${task === '' ? 'allocation' : 'task'}:\n\n${causeOf(error)}`);
  });
  return 0;
}
