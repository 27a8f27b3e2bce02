import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** Deletes a role by its ID (AU-301). */
export const command: ServerCommand = {
  usage: '<id>',
  description: 'Deletes a role. Tokens that have it lose the rights that it granted.\n\nNeeds a management token.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_role_id>' },
  async run({ api, args: [id = ''], terminal }) {
    await api.delete(`/v1/acl/role/${encodeURIComponent(id)}`).catch((error: unknown) => {
      throw failed('deleting ACL role', error);
    });
    terminal.print(`ACL role ${id} successfully deleted`);
    return 0;
  },
};
