import type { Call, ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { failed } from '../failure.js';
import { readAllocation } from '../allocations/read-allocation.js';
import { mustHaveTask } from '../allocations/task-of-allocation.js';

const DEFAULT_SIGNAL = 'SIGKILL';

export const command: ServerCommand = {
  usage: '<allocation> [<task>]',
  description:
    'Sends a signal to one task of an allocation, or to all its tasks.\n\nNeeds the capabilities alloc-lifecycle, ' +
    'read-job and list-jobs.',
  flags: [
    { name: 's', kind: 'text', value: 'signal', help: `The signal, such as SIGHUP (default ${DEFAULT_SIGNAL}).` },
    { name: 'task', kind: 'text', value: 'task', help: 'The task (default: all tasks).' },
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 2, otherwise: 'This command takes up to two arguments: <alloc-id> <task>' },
  run,
};

/** Sends a signal, by default SIGKILL, to one task or to all tasks (CL-442). */
async function run(call: Call): Promise<number> {
  const [given = '', argument] = call.args;
  const task = call.flags.text('task') ?? argument ?? '';
  const { api, alloc } = await readAllocation(call, given, Display.of(call));
  if (task !== '') mustHaveTask(alloc, task);
  const body = { Task: task, Signal: call.flags.text('s') ?? DEFAULT_SIGNAL };
  await api.put(`/v1/client/allocation/${alloc.ID}/signal`, body).catch((error: unknown) => {
    throw failed('signalling allocation', error);
  });
  return 0;
}
