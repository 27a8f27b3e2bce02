import type { AclRole } from '@waybill/model';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { ROLE_FLAGS, wholeRole } from '../access/role-flags.js';
import { printRole } from '../access/role-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Creates a role, which requires a name and at least one policy (AU-301). */
export const command: ServerCommand = {
  usage: '',
  description: 'Creates a role, a named set of policies for tokens.\n\nNeeds a management token.',
  flags: [...ROLE_FLAGS, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run(call) {
    const answer = await call.api.put<AclRole>('/v1/acl/role', wholeRole(call.flags)).catch((error: unknown) => {
      throw failed('creating ACL role', error);
    });
    printRole(call, answer);
    return 0;
  },
};
