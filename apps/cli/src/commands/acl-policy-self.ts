import { type Call, NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { isTokenSecret, ownToken } from '../access/own-token.js';
import { ownPolicyTable, type PolicyStub } from '../access/policy-text.js';
import type { Token } from '../access/token-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Lists the policies of the caller's token or workload identity (CL-843, AU-302). */
export const command: ServerCommand = {
  usage: '',
  description: 'Shows the policies of your token or workload identity.',
  flags: [...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run(call) {
    const { api, data, terminal } = call;
    if (!data && (await isManagement(call))) {
      terminal.print('This is a management token. No individual policies are assigned.');
      return 0;
    }
    const { value, exact } = await api.get<PolicyStub[] | null>('/v1/acl/policy/self').catch(fetching);
    if (data) data(exact);
    else terminal.print(value === null || value.length === 0 ? 'No policies found.' : ownPolicyTable(value));
    return 0;
  },
};

/**
 * Whether the credential is a management token. A workload identity is not looked up, because it is not a token
 * (AU-302).
 */
async function isManagement(call: Call): Promise<boolean> {
  const credential = ownToken(call);
  if (credential === undefined || !isTokenSecret(credential)) return false;
  return (await call.api.get<Token>('/v1/acl/token/self').catch(fetching)).value.Type === 'management';
}

function fetching(error: unknown): never {
  throw failed('fetching ACL policies', error);
}
