import type { ServerCommand } from '../command-spec.js';
import { submitVolume, VOLUME_FILE_ARGUMENT, VOLUME_FILE_FLAGS } from '../volumes/volume-submission.js';

/** Registers the existing volume that a file describes (CL-707). */
export const command: ServerCommand = {
  usage: '<file>|-',
  description:
    'Registers an existing disk of a provider, or a directory of a machine (type "host"), as a volume, or ' +
    'updates it.\n\nNeeds the capability csi-write-volume, or host-volume-register.',
  flags: VOLUME_FILE_FLAGS.register,
  takes: VOLUME_FILE_ARGUMENT,
  run: (call) => submitVolume(call, 'register'),
};
