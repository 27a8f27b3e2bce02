import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Deletes a namespace (CL-831). */
export const command: ServerCommand = {
  usage: '<namespace>',
  description: 'Deletes a namespace that is no longer in use.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <namespace>' },
  async run({ api, args, terminal }) {
    const [name = ''] = args;
    await api.delete(`/v1/namespace/${encodeURIComponent(name)}`).catch((error: unknown) => {
      throw failed('deleting namespace', error);
    });
    terminal.print(`Successfully deleted namespace "${name}"!`);
    return 0;
  },
};
