import { NO_ARGUMENTS, type OfflineCommand } from '../command-spec.js';
import { API_VERSION, VERSION } from '../version.js';

/** CL-911. */
export const command: OfflineCommand = {
  usage: '',
  description: 'Shows the version of this program and the level of the API it follows. Makes no request.',
  flags: [],
  takes: NO_ARGUMENTS,
  offline: true,
  run: async ({ terminal }) => {
    terminal.print(`Waybill v${VERSION}\nNomad API ${API_VERSION}`);
    return 0;
  },
};
