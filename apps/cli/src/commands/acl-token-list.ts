import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { type TokenStub, tokenTable } from '../access/token-text.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Lists the tokens and whether they have expired (CL-841, AU-303). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists the tokens, without their secrets.\n\nNeeds a management token.',
  flags: [...LIST_FLAGS, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  run: (call) =>
    printPage<TokenStub>(call, {
      path: '/v1/acl/tokens',
      doing: 'listing tokens',
      none: 'No tokens found',
      tableOf: (tokens) => tokenTable(tokens, call.clock.nowMs()),
    }),
};
