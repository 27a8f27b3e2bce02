import type { BindingRule } from '@waybill/model';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { RULE_FLAGS, wholeRule } from '../access/binding-rule-flags.js';
import { printRule } from '../access/binding-rule-text.js';
import { CommandFailure, failed } from '../failure.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** The command `acl binding-rule create` (AU-299). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Creates a binding rule: it grants a role, a policy or management to logins of an auth method that match its ' +
    'selector. The role or policy may be created later.\n\nNeeds a management token.',
  flags: [
    { name: 'auth-method', kind: 'text', value: 'name', help: 'Auth method of the rule. It never changes.' },
    ...RULE_FLAGS,
    ...DATA_FLAGS,
  ],
  takes: NO_ARGUMENTS,
  async run(call) {
    const rule = newRule(call.flags);
    const answer = await call.api.put<BindingRule>('/v1/acl/binding-rule', rule).catch((error: unknown) => {
      throw failed('creating ACL binding rule', error);
    });
    printRule(call, answer);
    return 0;
  },
};

/** @throws CommandFailure */
function newRule(flags: ParsedFlags) {
  const method = flags.text('auth-method');
  if (method === undefined)
    throw new CommandFailure('ACL binding rule auth method must be specified using the -auth-method flag');
  return { AuthMethod: method, ...wholeRule(flags) };
}
