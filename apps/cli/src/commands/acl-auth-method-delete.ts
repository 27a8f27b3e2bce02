import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';

/** The command `acl auth-method delete` (AU-298). */
export const command: ServerCommand = {
  usage: '<name>',
  description:
    'Deletes an auth method. Its binding rules stay, and apply to a new method of the same name. Tokens that it ' +
    'created stay too.\n\nNeeds a management token.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_auth_method_name>' },
  async run({ api, args: [name = ''], terminal }) {
    await api.delete(`/v1/acl/auth-method/${encodeURIComponent(name)}`).catch((error: unknown) => {
      throw failed('deleting ACL auth method', error);
    });
    terminal.print(`ACL auth method ${name} successfully deleted`);
    return 0;
  },
};
