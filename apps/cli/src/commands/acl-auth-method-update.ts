import type { ServerCommand } from '../command-spec.js';
import { changesMethod, METHOD_FLAGS, methodMembers } from '../access/auth-method-flags.js';
import { type Method, printMethod } from '../access/auth-method-text.js';
import { CommandFailure, failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { membersOf } from '../terminal/exact-json.js';

/** The command `acl auth-method update` (AU-297). */
export const command: ServerCommand = {
  usage: '<name>',
  description:
    'Changes only the given members of an auth method. A given configuration replaces the stored one; the value ' +
    '"redacted" keeps the stored secret.\n\nNeeds a management token.',
  flags: [...METHOD_FLAGS, ...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_auth_method_name>' },
  async run(call) {
    if (!changesMethod(call.flags))
      throw new CommandFailure('Please provide at least one flag to update the ACL auth method');
    const given = await methodMembers(call.flags);
    const path = `/v1/acl/auth-method/${encodeURIComponent(call.args[0] ?? '')}`;
    const stored = await call.api.get<Method>(path).catch((error: unknown) => {
      throw failed('when retrieving ACL auth method', error);
    });
    const answer = await call.api
      .put<Method>(path, { ...membersOf(stored.exact), ...given })
      .catch((error: unknown) => {
        throw failed('updating ACL auth method', error);
      });
    printMethod(call, answer);
    return 0;
  },
};
