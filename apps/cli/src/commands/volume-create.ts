import type { ServerCommand } from '../command-spec.js';
import { submitVolume, VOLUME_FILE_ARGUMENT, VOLUME_FILE_FLAGS } from '../submit-volume.js';

/** CL-707. */
export const command: ServerCommand = {
  usage: '<file>|-',
  description:
    'Has a disk made by its storage plugin and registers it as a volume.\n\nNeeds the capability csi-write-volume.',
  flags: VOLUME_FILE_FLAGS,
  takes: VOLUME_FILE_ARGUMENT,
  run: (call) =>
    submitVolume(
      call,
      '/create',
      'creating volume',
      ({ ID, ExternalID }) => `Created external volume ${ExternalID} with ID ${ID}`,
    ),
};
