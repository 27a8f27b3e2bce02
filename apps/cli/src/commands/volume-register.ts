import type { ServerCommand } from '../command-spec.js';
import { submitVolume, VOLUME_FILE_ARGUMENT, VOLUME_FILE_FLAGS } from '../submit-volume.js';

/** CL-707. */
export const command: ServerCommand = {
  usage: '<file>|-',
  description:
    'Registers a disk that exists at its provider as a volume, or changes what is known of it.\n\nNeeds the capability csi-write-volume.',
  flags: VOLUME_FILE_FLAGS,
  takes: VOLUME_FILE_ARGUMENT,
  run: (call) => submitVolume(call, '', 'registering volume', ({ ID }) => `Volume "${ID}" registered`),
};
