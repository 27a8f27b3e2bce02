import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { type RuleStub, ruleTable } from '../access/binding-rule-text.js';
import { LIST_FLAGS, printPage } from '../flags/pagination.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** The command `acl binding-rule list` (AU-300). */
export const command: ServerCommand = {
  usage: '',
  description: 'Shows the binding rules.\n\nNeeds a management token.',
  flags: [...LIST_FLAGS, ...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  run: (call) =>
    printPage<RuleStub>(call, {
      path: '/v1/acl/binding-rules',
      doing: 'listing ACL binding rules',
      none: 'No ACL binding rules found',
      tableOf: ruleTable,
    }),
};
