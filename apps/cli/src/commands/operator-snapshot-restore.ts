import type { Call, ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { readSnapshot, SNAPSHOT_PATH } from '../operator/snapshot-file.js';

/** Restores the cluster's state from a snapshot file (OP-50). */
export const command: ServerCommand = {
  usage: '<file>',
  description:
    'Restores the whole cluster to a saved state at once. Later changes are removed from the state, and stay in ' +
    'the log. Machines then run what the restored state contains.\n\nNeeds a management token.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <file>' },
  withoutNamespace: true,
  run,
};

async function run({ api, args, terminal }: Call): Promise<number> {
  const { bytes } = await readSnapshot(args[0] ?? '');
  await api.putBytes(SNAPSHOT_PATH, bytes).catch((error: unknown) => {
    throw failed('restoring snapshot', error);
  });
  terminal.print('Snapshot Restored');
  terminal.note(
    'Machines of the archive that do not report here within 30 seconds (longer with more than 500 machines) become down, ' +
      'and their work is placed elsewhere.',
  );
  return 0;
}
