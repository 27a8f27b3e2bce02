import { NO_ARGUMENTS, type OfflineCommand } from '../command-spec.js';
import { COMPATIBLE_VERSION, WAYBILL_VERSION } from '@waybill/model/version';

/** Prints the version of this program and of the API level, without a request (CL-911). */
export const command: OfflineCommand = {
  usage: '',
  description: 'Shows the version of this program and of the API that it follows, without a request.',
  flags: [],
  takes: NO_ARGUMENTS,
  offline: true,
  run: async ({ terminal }) => {
    terminal.print(`Waybill v${WAYBILL_VERSION}\nNomad API ${COMPATIBLE_VERSION}`);
    return 0;
  },
};
