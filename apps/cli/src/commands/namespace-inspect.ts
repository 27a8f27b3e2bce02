import type { ServerCommand } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { formatExact } from '../terminal/exact-json.js';
import { resolveNamespace } from '../namespace.js';

/** Prints a namespace as JSON (CL-832). */
export const command: ServerCommand = {
  usage: '<namespace>',
  description: 'Prints a namespace as it is stored.',
  flags: [...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <namespace>' },
  async run(call) {
    const namespace = await resolveNamespace(call, call.args[0] ?? '');
    if (call.data) call.data(namespace.exact);
    else call.terminal.print(formatExact(namespace.exact));
    return 0;
  },
};
