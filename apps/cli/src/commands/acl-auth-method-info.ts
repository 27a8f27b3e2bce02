import type { ServerCommand } from '../command-spec.js';
import { type Method, printMethod } from '../access/auth-method-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** The command `acl auth-method info` (AU-298). */
export const command: ServerCommand = {
  usage: '<name>',
  description: 'Shows an auth method. Its secrets read "redacted".\n\nNeeds a management token.',
  flags: [...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_auth_method_name>' },
  async run(call) {
    const path = `/v1/acl/auth-method/${encodeURIComponent(call.args[0] ?? '')}`;
    const answer = await call.api.get<Method>(path).catch((error: unknown) => {
      throw failed('reading ACL auth method', error);
    });
    printMethod(call, answer);
    return 0;
  },
};
