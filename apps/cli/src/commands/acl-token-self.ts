import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { isTokenSecret, ownToken } from '../access/own-token.js';
import type { PolicyStub } from '../access/policy-text.js';
import { printToken, type Token } from '../access/token-text.js';
import { CommandFailure, failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/**
 * Shows the token from the flag or the environment. A workload identity is looked up among the policies (CL-842,
 * AU-303).
 */
export const command: ServerCommand = {
  usage: '',
  description: 'Shows your token, from -token or the environment.',
  flags: [...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run(call) {
    const credential = ownToken(call);
    if (credential === undefined)
      throw new CommandFailure('No token present in the environment or set via the CLI flag');
    if (!isTokenSecret(credential)) return identitySelf(call);
    const answer = await call.api.get<Token>('/v1/acl/token/self').catch((error: unknown) => {
      throw failed('fetching self token', error);
    });
    printToken(call, answer);
    return 0;
  },
};

/** Shows a workload identity, which is not a token but may have policies (CL-842). @throws CommandFailure */
async function identitySelf({ api, terminal }: Call): Promise<number> {
  const { value } = await api.get<PolicyStub[] | null>('/v1/acl/policy/self').catch((error: unknown) => {
    throw failed('fetching ACL policies', error);
  });
  if (value === null || value.length === 0)
    throw new CommandFailure('No ACL tokens, nor ACL policies attached to a workload identity found.');
  terminal.print(
    'No ACL token found but there are ACL policies attached to this workload identity. You can query them with acl policy self command.',
  );
  return 0;
}
