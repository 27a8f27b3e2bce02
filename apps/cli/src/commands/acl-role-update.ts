import type { AclRole } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { mergedRole, mustChangeRole, ROLE_FLAGS, type WholeRole, wholeRole } from '../access/role-flags.js';
import { printRole } from '../access/role-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Adds policies to a role and replaces its name and description; `-no-merge` replaces the whole role (AU-301). */
export const command: ServerCommand = {
  usage: '<id>',
  description:
    'Changes a role: a given name or description replaces the stored one, and given policies are added.\n\nNeeds a ' +
    'management token.',
  flags: [
    ...ROLE_FLAGS,
    { name: 'no-merge', kind: 'switch', help: 'Replace the whole role by the flags.' },
    ...DATA_FLAGS,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_role_id>' },
  async run(call) {
    const id = call.args[0] ?? '';
    const path = `/v1/acl/role/${encodeURIComponent(id)}`;
    const role = await changedRole(call, path);
    const answer = await call.api.put<AclRole>(path, { ID: id, ...role }).catch((error: unknown) => {
      throw failed('updating ACL role', error);
    });
    printRole(call, answer);
    return 0;
  },
};

/** Returns the changed role. A wrong command line is refused before any request (CL-113). @throws CommandFailure */
async function changedRole({ api, flags }: Call, path: string): Promise<WholeRole> {
  const whole = flags.on('no-merge') ? wholeRole(flags) : undefined;
  if (!whole) mustChangeRole(flags);
  const stored = await api.get<AclRole>(path).catch((error: unknown) => {
    throw failed('when retrieving ACL role', error);
  });
  return whole ?? mergedRole(flags, stored.value);
}
