import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Deletes a token by its accessor (CL-841). */
export const command: ServerCommand = {
  usage: '<accessor>',
  description: 'Deletes a token. Servers then refuse it.\n\nNeeds a management token.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <token_accessor_id>' },
  async run({ api, args: [accessor = ''], terminal }) {
    await api.delete(`/v1/acl/token/${encodeURIComponent(accessor)}`).catch((error: unknown) => {
      throw failed('deleting token', error);
    });
    terminal.print(`Token ${accessor} successfully deleted`);
    return 0;
  },
};
