import type { ServerCommand } from '../command-spec.js';
import { ruleIdOf, rulePath } from '../access/binding-rule-id.js';
import { failed } from '../failure.js';

const DELETING = 'deleting ACL binding rule';

/** The command `acl binding-rule delete` (AU-300). */
export const command: ServerCommand = {
  usage: '<id>',
  description: 'Deletes a binding rule. Tokens that it already granted something stay.\n\nNeeds a management token.',
  flags: [],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_binding_rule_id>' },
  async run({ api, args: [given = ''], terminal }) {
    const id = await ruleIdOf(api, given, DELETING);
    await api.delete(rulePath(id)).catch((error: unknown) => {
      throw failed(DELETING, error);
    });
    terminal.print(`ACL binding rule ${id} successfully deleted`);
    return 0;
  },
};
