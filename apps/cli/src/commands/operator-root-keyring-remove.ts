import type { ServerCommand } from '../command-spec.js';
import { KEYRING_PATH, keyringFailure } from '../operator/root-keys.js';

/** Deletes a root key (CL-809, OP-213). */
export const command: ServerCommand = {
  usage: '<key ID>',
  description:
    'Deletes a root key. Identities that it signed are then refused, and variables that it encrypted can never ' +
    'be read again. The active key cannot be deleted.\n\nNeeds the capability operator:keyring-delete.',
  flags: [
    {
      name: 'force',
      kind: 'switch',
      help: 'Delete the key even if a variable is encrypted with it, or a running task has an identity that it signed.',
    },
  ],
  takes: { min: 1, max: 1, otherwise: 'This command requires one argument: <key ID>' },
  withoutNamespace: true,
  async run({ api, flags, args: [id = ''], terminal }) {
    const query = flags.on('force') ? { force: 'true' } : {};
    await api.delete(`${KEYRING_PATH}/key/${encodeURIComponent(id)}`, query).catch((error: unknown) => {
      throw keyringFailure(error);
    });
    terminal.print(`Removed encryption key ${id}`);
    return 0;
  },
};
