import type { ServerCommand } from '../command-spec.js';
import { refusal } from '../terminal/confirmation.js';
import { csiVolumePath, resolveCSIVolume } from '../volumes/csi-volume-stub.js';
import { failed } from '../failure.js';

/** Deregisters a CSI volume; `-force` requires a confirmation (CL-710). */
export const command: ServerCommand = {
  usage: '<volume>',
  description:
    'Deregisters a volume. Its disk stays at the provider. A volume in use is refused.\n\nNeeds the capability ' +
    'csi-write-volume.',
  flags: [
    { name: 'force', kind: 'switch', help: 'Deregister the volume even if ended allocations have not released it.' },
    { name: 'yes', kind: 'switch', help: 'Do not ask.' },
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <id>' },
  async run(call) {
    const { api, args, flags, terminal } = call;
    const { ID, Namespace } = await resolveCSIVolume(call, args[0] ?? '');
    const force = flags.on('force');
    if (force && !flags.on('yes')) {
      const question = `Are you sure you want to force deregister volume "${ID}"?`;
      const exitCode = await refusal(call, question, 'Cancelling volume deregister');
      if (exitCode !== undefined) return exitCode;
    }
    await api
      .within({ namespace: Namespace })
      .delete(csiVolumePath(ID), { force })
      .catch((error: unknown) => {
        throw failed('deregistering volume', error);
      });
    terminal.print(`Successfully deregistered volume "${ID}"!`);
    return 0;
  },
};
