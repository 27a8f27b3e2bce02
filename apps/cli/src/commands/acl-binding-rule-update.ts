import type { BindingRule } from '@waybill/model';
import type { Call, ServerCommand } from '../command-spec.js';
import { mergedRule, mustChangeRule, RULE_FLAGS, type RuleMembers, wholeRule } from '../access/binding-rule-flags.js';
import { ruleIdOf, rulePath } from '../access/binding-rule-id.js';
import { printRule } from '../access/binding-rule-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

const RETRIEVING = 'when retrieving ACL binding rule';

/** The command `acl binding-rule update` (AU-300). */
export const command: ServerCommand = {
  usage: '<id>',
  description:
    'Changes only the given members of a binding rule. Its auth method never changes.\n\nNeeds a management token.',
  flags: [
    ...RULE_FLAGS,
    {
      name: 'no-merge',
      kind: 'switch',
      help: 'Replace the whole rule: an omitted description or selector becomes empty. Needs -bind-type.',
    },
    ...DATA_FLAGS,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <acl_binding_rule_id>' },
  async run(call) {
    const { id, rule } = await changedRule(call);
    const answer = await call.api.put<BindingRule>(rulePath(id), { ID: id, ...rule }).catch((error: unknown) => {
      throw failed('updating ACL binding rule', error);
    });
    printRule(call, answer);
    return 0;
  },
};

/** Returns the changed rule. A wrong command line is refused before any request (CL-113). @throws CommandFailure */
async function changedRule({ api, args, flags }: Call): Promise<{ id: string; rule: RuleMembers }> {
  const whole = flags.on('no-merge') ? wholeRule(flags) : undefined;
  if (!whole) mustChangeRule(flags);
  const id = await ruleIdOf(api, args[0] ?? '', RETRIEVING);
  const stored = await api.get<BindingRule>(rulePath(id)).catch((error: unknown) => {
    throw failed(RETRIEVING, error);
  });
  return { id, rule: whole ?? mergedRule(flags, stored.value) };
}
