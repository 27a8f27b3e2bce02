import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { type MethodStub, methodTable } from '../access/auth-method-text.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** The command `acl auth-method list` (AU-298). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists the auth methods with which you can log in. Everybody may read them.',
  flags: [...LIST_FLAGS, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  run: (call) =>
    printPage<MethodStub>(call, {
      path: '/v1/acl/auth-methods',
      doing: 'listing ACL auth methods',
      none: 'No ACL auth methods found',
      tableOf: methodTable,
    }),
};
