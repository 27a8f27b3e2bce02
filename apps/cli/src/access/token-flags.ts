import type { Flag } from '../flags/flag.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import type { ExactJson } from '../terminal/exact-json.js';

/** Flags for the members of a token and its grants. */
export const TOKEN_FLAGS: readonly Flag[] = [
  { name: 'name', kind: 'text', value: 'name', help: 'Name for people.' },
  {
    name: 'type',
    kind: 'text',
    value: 'client|management',
    help: 'Type of the token. A new token is a client token by default.',
  },
  { name: 'global', kind: 'switch', help: 'Make the token valid in all regions. Cannot be changed later.' },
  { name: 'policy', kind: 'list', value: 'name', help: 'Policy of the token. May be repeated.' },
  { name: 'role-id', kind: 'list', value: 'id', help: 'ID of a role of the token. May be repeated.' },
  { name: 'role-name', kind: 'list', value: 'name', help: 'Name of a role of the token. May be repeated.' },
];

/** Returns the members of a token that flags set. An empty `-policy=` or role stands for none (AU-303). */
export function tokenMembers(flags: ParsedFlags): { [member: string]: ExactJson } {
  const [name, type] = [flags.text('name'), flags.text('type')];
  return {
    ...(name !== undefined && { Name: name }),
    ...(type !== undefined && { Type: type }),
    ...(flags.given('global') && { Global: flags.on('global') }),
    ...(flags.given('policy') && { Policies: namesOf(flags, 'policy') }),
    ...((flags.given('role-id') || flags.given('role-name')) && {
      Roles: [
        ...namesOf(flags, 'role-id').map((ID) => ({ ID })),
        ...namesOf(flags, 'role-name').map((Name) => ({ Name })),
      ],
    }),
  };
}

/** Returns the values of a repeatable flag that are not empty. */
export const namesOf = (flags: ParsedFlags, flag: string): string[] => flags.list(flag).filter((name) => name !== '');
