import type { ServerCommand } from '../command-spec.js';
import { submitVolume, VOLUME_FILE_ARGUMENT, VOLUME_FILE_FLAGS } from '../volumes/volume-submission.js';

/** Registers the existing volume that a file describes (CL-707). */
export const command: ServerCommand = {
  usage: '<file>|-',
  description:
    'Registers what exists as a volume, or changes what is known of it: a disk at its provider, or a directory of a machine (type "host").\n\nNeeds the capability csi-write-volume, or host-volume-register.',
  flags: VOLUME_FILE_FLAGS.register,
  takes: VOLUME_FILE_ARGUMENT,
  run: (call) => submitVolume(call, 'register'),
};
