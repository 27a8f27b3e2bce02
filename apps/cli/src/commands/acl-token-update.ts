import type { ServerCommand } from '../command-spec.js';
import { TOKEN_FLAGS, tokenMembers } from '../access/token-flags.js';
import { printToken, type Token } from '../access/token-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { membersOf } from '../terminal/exact-json.js';

/** Changes only the members of a token that flags give (CL-841, AU-303). */
export const command: ServerCommand = {
  usage: '<accessor>',
  description:
    'Changes only the given members of a token. Given policies and roles replace the stored ones; an empty one ' +
    '(-policy="") removes them all.\n\nNeeds a management token.',
  flags: [...TOKEN_FLAGS, ...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <token_accessor_id>' },
  async run(call) {
    const path = `/v1/acl/token/${encodeURIComponent(call.args[0] ?? '')}`;
    const stored = await call.api.get<Token>(path).catch((error: unknown) => {
      throw failed('fetching token', error);
    });
    const changed = { ...membersOf(stored.exact), ...tokenMembers(call.flags) };
    const answer = await call.api.put<Token>(path, changed).catch((error: unknown) => {
      throw failed('updating token', error);
    });
    printToken(call, answer);
    return 0;
  },
};
