import type { ServerCommand } from '../command-spec.js';
import { pairsOf, SECRET_FLAG } from '../volumes/csi-secrets.js';
import { resolveCSIVolume } from '../volumes/csi-volume-stub.js';
import { VERBOSE_FLAG } from '../terminal/display.js';
import { failed } from '../failure.js';
import { type SnapshotAnswer, snapshotTable } from '../operator/snapshot-table.js';

/** Creates a snapshot of a CSI volume (CL-712). */
export const command: ServerCommand = {
  usage: '<volume> <name>',
  description: 'Creates a snapshot of a volume at its provider.\n\nNeeds the capability csi-write-volume.',
  flags: [
    { name: 'parameter', kind: 'list', value: 'key=value', help: 'Parameter for the storage plugin. May be repeated.' },
    SECRET_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 2, max: 2, otherwise: 'This command takes two arguments: <vol id> <snapshot name>' },
  async run(call) {
    const { args, flags, terminal } = call;
    const [Parameters, Secrets] = [pairsOf(flags, 'parameter'), pairsOf(flags, 'secret')];
    const { ID, Namespace } = await resolveCSIVolume(call, args[0] ?? '');
    const wanted = { SourceVolumeID: ID, Name: args[1] ?? '', Parameters, Secrets };
    const { value } = await call.api
      .within({ namespace: Namespace })
      .put<{ Snapshots: SnapshotAnswer[] | null }>('/v1/volumes/snapshot', { Snapshots: [wanted] })
      .catch((error: unknown) => {
        throw failed('creating snapshot', error);
      });
    terminal.print(snapshotTable(value.Snapshots ?? [], call));
    return 0;
  },
};
