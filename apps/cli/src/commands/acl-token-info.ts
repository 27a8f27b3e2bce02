import type { ServerCommand } from '../command-spec.js';
import { printToken, type Token } from '../access/token-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Shows a token by its accessor (CL-841). */
export const command: ServerCommand = {
  usage: '<accessor>',
  description: 'Shows a token with its secret: any token for a management token, otherwise only the token itself.',
  flags: [...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <token_accessor_id>' },
  async run(call) {
    const path = `/v1/acl/token/${encodeURIComponent(call.args[0] ?? '')}`;
    const answer = await call.api.get<Token>(path).catch((error: unknown) => {
      throw failed('fetching token', error);
    });
    printToken(call, answer);
    return 0;
  },
};
