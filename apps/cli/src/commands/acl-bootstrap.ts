import type { ServerCommand } from '../command-spec.js';
import { givenSecret } from '../access/given-text.js';
import { printToken, type Token } from '../access/token-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Creates the first management token and prints it with its secret (CL-841, AU-304). */
export const command: ServerCommand = {
  usage: '[<file>|-]',
  description:
    'Creates the first management token and prints it with its secret. The server chooses the secret, or the ' +
    'command reads a UUID from a file or from stdin ("-").\n\nNeeds no token. Works once, and once more after a ' +
    'reset.',
  flags: [...DATA_FLAGS],
  takes: { min: 0, max: 1, otherwise: 'This command takes up to one argument' },
  async run(call) {
    const [source] = call.args;
    const BootstrapSecret =
      source === undefined
        ? ''
        : await givenSecret(source).catch((error: unknown) => {
            throw failed('reading provided token', error);
          });
    const answer = await call.api.put<Token>('/v1/acl/bootstrap', { BootstrapSecret }).catch((error: unknown) => {
      throw failed('bootstrapping', error);
    });
    printToken(call, answer);
    return 0;
  },
};
