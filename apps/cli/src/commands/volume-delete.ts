import type { ServerCommand } from '../command-spec.js';
import { SECRET_FLAG, withSecrets } from '../csi-secrets.js';
import { csiVolumePath, resolveCSIVolume } from '../csi-volume-stub.js';
import { CommandFailure, failed } from '../failure.js';

/** CL-711. */
export const command: ServerCommand = {
  usage: '<volume>',
  description:
    'Has the disk of a volume deleted by its storage plugin, and forgets the volume.\n\nNeeds the capability csi-write-volume.',
  flags: [{ name: 'type', kind: 'text', value: 'csi', help: 'Kind of the volume (csi).' }, SECRET_FLAG],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <vol id>' },
  async run(call) {
    const { api, args, flags, terminal } = call;
    const type = flags.text('type') ?? 'csi';
    if (type !== 'csi') throw new CommandFailure(`No such volume type "${type}"`);
    const asked = withSecrets(api, flags);
    const { ID, Namespace } = await resolveCSIVolume(call, args[0] ?? '');
    await asked
      .within({ namespace: Namespace })
      .delete(`${csiVolumePath(ID)}/delete`)
      .catch((error: unknown) => {
        throw failed('deleting volume', error);
      });
    terminal.print(`Successfully deleted volume "${ID}"!`);
    return 0;
  },
};
