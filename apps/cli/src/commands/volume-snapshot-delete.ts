import type { ServerCommand } from '../command-spec.js';
import { SECRET_FLAG, withSecrets } from '../volumes/csi-secrets.js';
import { failed } from '../failure.js';

/** Deletes a snapshot and prints nothing (CL-712). */
export const command: ServerCommand = {
  usage: '<plugin> <snapshot>',
  description: 'Deletes a snapshot at its provider.\n\nNeeds the capability csi-write-volume.',
  flags: [SECRET_FLAG],
  takes: { min: 2, max: 2, otherwise: 'This command takes two arguments: <plugin id> <snapshot id>' },
  async run({ api, args, flags }) {
    const [plugin_id = '', snapshot_id = ''] = args;
    await withSecrets(api, flags)
      .delete('/v1/volumes/snapshot', { plugin_id, snapshot_id })
      .catch((error: unknown) => {
        throw failed('deleting snapshot', error);
      });
    return 0;
  },
};
