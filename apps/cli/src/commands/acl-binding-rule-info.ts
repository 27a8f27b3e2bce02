import type { BindingRule } from '@waybill/model';
import type { ServerCommand } from '../command-spec.js';
import { ruleIdOf, rulePath } from '../access/binding-rule-id.js';
import { printRule } from '../access/binding-rule-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

const READING = 'reading ACL binding rule';

/** The command `acl binding-rule info` (AU-300). */
export const command: ServerCommand = {
  usage: '<id>',
  description: 'Shows a binding rule.\n\nNeeds a management token.',
  flags: [...DATA_FLAGS],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_binding_rule_id>' },
  async run(call) {
    const id = await ruleIdOf(call.api, call.args[0] ?? '', READING);
    const answer = await call.api.get<BindingRule>(rulePath(id)).catch((error: unknown) => {
      throw failed(READING, error);
    });
    printRule(call, answer);
    return 0;
  },
};
