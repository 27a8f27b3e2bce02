import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Deletes a node pool (CL-532). */
export const command: ServerCommand = {
  usage: '<pool>',
  description: 'Deletes a node pool without nodes and jobs.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <node-pool>' },
  async run({ api, args, terminal }) {
    const [name = ''] = args;
    await api.delete(`/v1/node/pool/${encodeURIComponent(name)}`).catch((error: unknown) => {
      throw failed('deleting node pool', error);
    });
    terminal.print(`Successfully deleted node pool "${name}"!`);
    return 0;
  },
};
