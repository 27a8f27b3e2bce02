import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { readNodePoolFile } from '../nodes/node-pool-file.js';

/** Creates or updates a node pool from a file (CL-532). */
export const command: ServerCommand = {
  usage: '<file>|-',
  description: 'Creates or changes a node pool from a file.',
  flags: [{ name: 'json', kind: 'switch', help: 'The file is JSON (recognised without this flag too).' }],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <input>' },
  async run({ api, args, terminal }) {
    const { name, body } = await readNodePoolFile(args[0] ?? '');
    await api.put('/v1/node/pools', body).catch((error: unknown) => {
      throw failed('applying node pool', error);
    });
    terminal.print(`Successfully applied node pool "${name}"!`);
    return 0;
  },
};
