import type { ServerCommand } from '../command-spec.js';
import { submitVolume, VOLUME_FILE_ARGUMENT, VOLUME_FILE_FLAGS } from '../volumes/volume-submission.js';

/** Creates the volume that a file describes (CL-707, CL-708). */
export const command: ServerCommand = {
  usage: '<file>|-',
  description:
    'Has a volume made and registers it: a disk by its storage plugin, or a directory of a machine (type "host").\n\nNeeds the capability csi-write-volume, or host-volume-create.',
  flags: VOLUME_FILE_FLAGS.create,
  takes: VOLUME_FILE_ARGUMENT,
  run: (call) => submitVolume(call, 'create'),
};
