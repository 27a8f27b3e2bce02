import type { Flag } from '../flags/flag.js';
import { CommandFailure } from '../failure.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { namesOf } from './token-flags.js';

/** Flags for the members of a role. */
export const ROLE_FLAGS: readonly Flag[] = [
  { name: 'name', kind: 'text', value: 'name', help: 'Unique name of the role.' },
  { name: 'description', kind: 'text', value: 'text', help: 'Description.' },
  { name: 'policy', kind: 'list', value: 'name', help: 'Existing policy in the role. May be repeated.' },
];

/** A role built from flags. A type alias, so that it is assignable to JSON. */
export type WholeRole = { Name: string; Description: string; Policies: { Name: string }[] };

/** Builds a complete role from the flags (AU-301). @throws CommandFailure if a member is missing */
export function wholeRole(flags: ParsedFlags): WholeRole {
  const [name, policies] = [flags.text('name'), namesOf(flags, 'policy')];
  if (name === undefined) throw new CommandFailure('ACL role name must be specified using the -name flag');
  if (policies.length === 0)
    throw new CommandFailure('At least one policy name must be specified using the -policy flag');
  return { Name: name, Description: flags.text('description') ?? '', Policies: policies.map((Name) => ({ Name })) };
}

/** Applies the flags to a stored role: policies are added, other members are replaced (AU-301). */
export function mergedRole(flags: ParsedFlags, stored: WholeRole): WholeRole {
  const policies = [...stored.Policies.map(({ Name }) => Name), ...namesOf(flags, 'policy')];
  return {
    Name: flags.text('name') ?? stored.Name,
    Description: flags.text('description') ?? stored.Description,
    Policies: [...new Set(policies)].map((Name) => ({ Name })),
  };
}

/** @throws CommandFailure if no flag changes a member (AU-301) */
export function mustChangeRole(flags: ParsedFlags): void {
  if (
    flags.text('name') === undefined &&
    flags.text('description') === undefined &&
    namesOf(flags, 'policy').length === 0
  )
    throw new CommandFailure('Please provide at least one flag to update the ACL role');
}
