import type { ServerCommand } from '../command-spec.js';
import { givenText } from '../access/given-text.js';
import { causeOf, CommandFailure, failed } from '../failure.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';

/** Writes a policy. Each flag that narrows the workload requires the next wider one (CL-843, AU-302). */
export const command: ServerCommand = {
  usage: '<name> <file>|-',
  description:
    'Creates or replaces a policy. Its rules, in HCL or JSON, are read from a file or from stdin ("-"). With ' +
    '-namespace and -job, the policy applies to that workload.\n\nNeeds a management token.',
  flags: [
    { name: 'description', kind: 'text', value: 'text', help: 'Description.' },
    { name: 'job', kind: 'text', value: 'id', help: 'Job whose tasks get the policy. Needs -namespace.' },
    { name: 'group', kind: 'text', value: 'name', help: 'Only tasks of this group; needs -job.' },
    { name: 'task', kind: 'text', value: 'name', help: 'Only this task; needs -group.' },
  ],
  takes: { min: 2, max: 2, otherwise: 'This command takes two arguments: <name> and <path>' },
  async run({ api, args, flags, terminal }) {
    const [name = '', source = ''] = args;
    const JobACL = workloadOf(flags);
    const Rules = await givenText(source).catch((error: unknown) => {
      throw new CommandFailure(`Failed to read ${source === '-' ? 'stdin' : 'file'}: ${causeOf(error)}`);
    });
    const policy = { Name: name, Description: flags.text('description') ?? '', Rules, ...(JobACL && { JobACL }) };
    await api.put(`/v1/acl/policy/${encodeURIComponent(name)}`, policy).catch((error: unknown) => {
      throw failed('writing ACL policy', error);
    });
    terminal.print(`Successfully wrote "${name}" ACL policy!`);
    return 0;
  },
};

const PARTS = ['namespace', 'job', 'group', 'task'] as const;

/**
 * Returns the workload that the flags select, or undefined. The namespace of the environment does not count. @throws
 * CommandFailure
 */
function workloadOf(flags: ParsedFlags) {
  const [Namespace, JobID, Group, Task] = PARTS.map((name) => flags.text(name));
  for (const [i, part] of PARTS.slice(1).entries())
    if (flags.text(part) !== undefined && flags.text(PARTS[i] ?? '') === undefined)
      throw new CommandFailure(`-${PARTS[i]} is required if -${part} is set`);
  if (Namespace === undefined) return undefined;
  return { Namespace, JobID: JobID ?? '', Group: Group ?? '', Task: Task ?? '' };
}
