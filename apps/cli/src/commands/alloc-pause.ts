import type { ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { failed } from '../failure.js';
import { readAllocation } from '../allocations/read-allocation.js';

/** Prints the server's refusal, because Waybill has no task schedules (CL-444). */
export const command: ServerCommand = {
  usage: '<allocation> [<task>]',
  description:
    'Not available: only the commercial edition of Nomad pauses tasks by a schedule. Prints the refusal of the ' +
    'server.',
  flags: [
    { name: 'state', kind: 'text', value: 'state', help: 'pause (the default), run or scheduled.' },
    { name: 'status', kind: 'switch', help: 'Show the state instead of changing it.' },
    { name: 'task', kind: 'text', value: 'task', help: 'The task.' },
    VERBOSE_FLAG,
  ],
  takes: { min: 1, max: 2, otherwise: 'This command takes one or two arguments: <alloc-id> <task-name>' },
  async run(call) {
    const { args, flags } = call;
    const [given = '', argument] = args;
    const { api, alloc } = await readAllocation(call, given, Display.of(call));
    const task = flags.text('task') ?? argument ?? '';
    const path = `/v1/client/allocation/${alloc.ID}/pause`;
    const asked = flags.on('status')
      ? api.get(path, { task })
      : api.put(path, { Task: task, ScheduleState: flags.text('state') ?? 'pause' });
    await asked.catch((error: unknown) => {
      throw failed('pausing task', error);
    });
    return 0;
  },
};
