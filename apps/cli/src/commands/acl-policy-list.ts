import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { type PolicyStub, policyTable } from '../access/policy-text.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Lists names and descriptions of policies (CL-843, AU-302). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists policies: all of them for a management token, otherwise those of the token.',
  flags: [...LIST_FLAGS, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  run: (call) =>
    printPage<PolicyStub>(call, {
      path: '/v1/acl/policies',
      doing: 'listing ACL policies',
      none: 'No policies found',
      tableOf: policyTable,
    }),
};
