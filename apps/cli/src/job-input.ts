import type { ApiClient } from './api-client.js';
import type { Call } from './command-spec.js';
import { CommandFailure } from './failure.js';
import type { Flag } from './flag.js';
import { type JobFile, readJobFile, textMember } from './job-file.js';

/** What every command that reads a job file accepts (cli.md 3.5). */
export const JOB_INPUT_FLAGS: readonly Flag[] = [
  { name: 'json', kind: 'switch', help: 'The file is JSON (recognised without this flag too).' },
  { name: 'policy-override', kind: 'switch', help: 'Passed on.' },
  { name: 'consul-namespace', kind: 'text', value: 'name', help: 'Accepted; has no effect.' },
  { name: 'vault-namespace', kind: 'text', value: 'name', help: 'Accepted; has no effect.' },
  { name: 'hcl2-strict', kind: 'switch', help: 'Accepted; JSON files have no variables.' },
  { name: 'var', kind: 'list', value: 'name=value', help: 'Refused: JSON files have no variables.' },
  { name: 'var-file', kind: 'list', value: 'file', help: 'Refused: JSON files have no variables.' },
];

/** CL-251, CL-252, CL-254. @throws CommandFailure */
export async function readJobInput({ flags, args }: Pick<Call, 'flags' | 'args'>): Promise<JobFile> {
  if (flags.list('var').length > 0 || flags.list('var-file').length > 0)
    throw new CommandFailure('Invalid job options: cannot use variables with JSON files.');
  return readJobFile(args[0] ?? '');
}

/** The server, in the region and the namespace that the job names (CL-256). */
export const apiOf = (api: ApiClient, { job }: JobFile): ApiClient =>
  api.within({ region: textMember(job, 'Region'), namespace: textMember(job, 'Namespace') });
