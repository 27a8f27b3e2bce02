import type { ServerCommand } from '../command-spec.js';
import { NO_ARGUMENTS } from '../command-spec.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { nodePoolTable } from '../nodes/node-pool.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';

/** Lists the node pools (CL-531). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists the node pools.',
  flags: [...LIST_FLAGS, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  run: (call) =>
    printPage(call, {
      path: '/v1/node/pools',
      doing: 'querying node pools',
      none: 'No node pools',
      tableOf: nodePoolTable,
    }),
};
