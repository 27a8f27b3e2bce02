import type { ServerCommand } from '../command-spec.js';
import { submitVolume, VOLUME_FILE_ARGUMENT, VOLUME_FILE_FLAGS } from '../volumes/volume-submission.js';

/** Creates the volume that a file describes (CL-707, CL-708). */
export const command: ServerCommand = {
  usage: '<file>|-',
  description:
    'Creates a volume and registers it: a storage plugin creates a disk, or a machine creates a directory (type ' +
    '"host").\n\nNeeds the capability csi-write-volume, or host-volume-create.',
  flags: VOLUME_FILE_FLAGS.create,
  takes: VOLUME_FILE_ARGUMENT,
  run: (call) => submitVolume(call, 'create'),
};
