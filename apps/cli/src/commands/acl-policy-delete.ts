import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Deletes a policy by its name (CL-843, AU-302). */
export const command: ServerCommand = {
  usage: '<name>',
  description:
    'Deletes a policy. Tokens and roles that name it lose the rights that it granted.\n\nNeeds a management token.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <name>' },
  async run({ api, args: [name = ''], terminal }) {
    await api.delete(`/v1/acl/policy/${encodeURIComponent(name)}`).catch((error: unknown) => {
      throw failed('deleting ACL policy', error);
    });
    terminal.print(`Successfully deleted ${name} policy!`);
    return 0;
  },
};
