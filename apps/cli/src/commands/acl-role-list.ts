import type { AclRole } from '@waybill/model';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { roleTable } from '../access/role-text.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Lists the roles (CL-843, AU-301). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists roles: all of them for a management token, otherwise those of the token.',
  flags: [...LIST_FLAGS, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  run: (call) =>
    printPage<AclRole>(call, {
      path: '/v1/acl/roles',
      doing: 'listing ACL roles',
      none: 'No ACL roles found',
      tableOf: roleTable,
    }),
};
