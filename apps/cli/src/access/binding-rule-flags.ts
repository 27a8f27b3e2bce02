import type { BindingRule } from '@waybill/model';
import { CommandFailure } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

/** Flags for the members of a rule. Only `create` takes the method as a flag. */
export const RULE_FLAGS: readonly Flag[] = [
  { name: 'bind-type', kind: 'text', value: 'role|policy|management', help: 'Type of the grant.' },
  {
    name: 'bind-name',
    kind: 'text',
    value: 'name',
    help: 'Name of the role or policy; ${value.<name>} stands for a mapped claim.',
  },
  {
    name: 'selector',
    kind: 'text',
    value: 'expression',
    help: 'Filter over mapped claims that selects logins, such as \'value.team == "ops"\' (default: every login).',
  },
  { name: 'description', kind: 'text', value: 'text', help: 'Description.' },
];

/** The members of a rule that flags can set. A type alias, so that it is assignable to JSON. */
export type RuleMembers = { Description: string; Selector: string; BindType: string; BindName: string };

/** Builds a complete rule from the flags (AU-299, AU-300). @throws CommandFailure */
export function wholeRule(flags: ParsedFlags): RuleMembers {
  const type = flags.text('bind-type');
  if (type === undefined)
    throw new CommandFailure('ACL binding rule bind type must be specified using the -bind-type flag');
  return {
    Description: flags.text('description') ?? '',
    Selector: flags.text('selector') ?? '',
    BindType: type,
    BindName: flags.text('bind-name') ?? '',
  };
}

/** Applies the flags to a stored rule (AU-300). A rule that grants management has no name (AU-34). */
export function mergedRule(flags: ParsedFlags, stored: BindingRule): RuleMembers {
  const BindType = flags.text('bind-type') ?? stored.BindType;
  return {
    Description: flags.text('description') ?? stored.Description,
    Selector: flags.text('selector') ?? stored.Selector,
    BindType,
    BindName: flags.text('bind-name') ?? (BindType === 'management' ? '' : stored.BindName),
  };
}

/** @throws CommandFailure if no flag changes a member (AU-300) */
export function mustChangeRule(flags: ParsedFlags): void {
  if (RULE_FLAGS.every(({ name }) => flags.text(name) === undefined))
    throw new CommandFailure('Please provide at least one update for the ACL binding rule');
}
