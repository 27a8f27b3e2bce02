import type { Call, ServerCommand } from '../command-spec.js';
import { SECRET_FLAG, withSecrets } from '../volumes/csi-secrets.js';
import { csiVolumePath, resolveCSIVolume } from '../volumes/csi-volume-stub.js';
import { CommandFailure, failed } from '../failure.js';
import { hostVolumePath, resolveHostVolume } from '../volumes/host-volume-text.js';

/** Deletes a volume together with its data (CL-711). */
export const command: ServerCommand = {
  usage: '<volume>',
  description:
    'Deletes a volume with its data: the storage plugin deletes its disk, or its machine deletes the directory. ' +
    'A registered host volume without a plugin is only deregistered.\n\nNeeds the capability csi-write-volume, or ' +
    'host-volume-delete.',
  flags: [
    { name: 'type', kind: 'text', value: 'csi|host', help: 'Kind of the volume (csi).' },
    { name: 'force', kind: 'switch', help: 'Delete a host volume even if its machine cannot be reached.' },
    SECRET_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <vol id>' },
  async run(call) {
    const type = call.flags.text('type') ?? 'csi';
    if (type !== 'csi' && type !== 'host') throw new CommandFailure(`No such volume type "${type}"`);
    const deleting = type === 'csi' ? deletedDisk(call) : deletedDirectory(call);
    call.terminal.print(`Successfully deleted volume "${await deleting}"!`);
    return 0;
  },
};

/** Resolves with the volume's ID. */
async function deletedDisk(call: Call): Promise<string> {
  const asked = withSecrets(call.api, call.flags);
  const { ID, Namespace } = await resolveCSIVolume(call, call.args[0] ?? '');
  await asked
    .within({ namespace: Namespace })
    .delete(`${csiVolumePath(ID)}/delete`)
    .catch((error: unknown) => {
      throw failed('deleting volume', error);
    });
  return ID;
}

/** Resolves with the volume's ID. */
async function deletedDirectory(call: Call): Promise<string> {
  const { ID, Namespace } = await resolveHostVolume(call, call.args[0] ?? '');
  await call.api
    .within({ namespace: Namespace })
    .delete(hostVolumePath(ID), { force: call.flags.on('force') })
    .catch((error: unknown) => {
      throw failed('deleting volume', error);
    });
  return ID;
}
