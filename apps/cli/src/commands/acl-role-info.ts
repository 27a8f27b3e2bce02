import type { AclRole } from '@waybill/model';
import type { ServerCommand } from '../command-spec.js';
import { printRole } from '../access/role-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Shows a role by its ID, or by its name under `-by-name` (AU-301). */
export const command: ServerCommand = {
  usage: '<id>|<name>',
  description: 'Shows a role.',
  flags: [{ name: 'by-name', kind: 'switch', help: 'The argument is the name of the role.' }, ...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_role_id>' },
  async run(call) {
    const place = call.flags.on('by-name') ? 'role/name' : 'role';
    const path = `/v1/acl/${place}/${encodeURIComponent(call.args[0] ?? '')}`;
    const answer = await call.api.get<AclRole>(path).catch((error: unknown) => {
      throw failed('reading ACL role', error);
    });
    printRole(call, answer);
    return 0;
  },
};
