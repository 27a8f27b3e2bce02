import type { ApiClient } from '../server/api-client.js';
import type { Call } from '../command-spec.js';
import { CommandFailure } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import { type JobFile, jobFromJson, readJobText, textMember } from './job-file.js';

/** Flags of every command that reads a job file (cli.md 3.5). */
export const JOB_INPUT_FLAGS: readonly Flag[] = [
  { name: 'json', kind: 'switch', help: 'The file is JSON (recognised without this flag too).' },
  { name: 'policy-override', kind: 'switch', help: 'Passed to the server.' },
  { name: 'consul-namespace', kind: 'text', value: 'name', help: 'Accepted; has no effect.' },
  { name: 'vault-namespace', kind: 'text', value: 'name', help: 'Accepted; has no effect.' },
  {
    name: 'hcl2-strict',
    kind: 'switch',
    help: 'Refuse values for variables that the file does not declare (the default).',
  },
  {
    name: 'var',
    kind: 'list',
    value: 'name=value',
    help: 'Value of a variable; wins over files and the environment. May be repeated.',
  },
  {
    name: 'var-file',
    kind: 'list',
    value: 'file',
    help: 'File with values of variables. May be repeated; the last one wins.',
  },
];

/**
 * Reads a job file (CL-251 to CL-254). The parser of HCL is loaded only for files that need it. @throws CommandFailure
 */
export async function readJobInput({ flags, args }: Pick<Call, 'flags' | 'args'>): Promise<JobFile> {
  const [path = ''] = args;
  const hasVariables = flags.list('var').length > 0 || flags.list('var-file').length > 0;
  const refused = new CommandFailure('Invalid job options: cannot use variables with JSON files.');
  if (flags.on('json') && hasVariables) throw refused;
  const source = await readJobText(path);
  // HCL never starts with a brace, so such a file is JSON with or without the flag.
  if (!flags.on('json') && !source.trimStart().startsWith('{'))
    return (await import('./hcl-job.js')).readHclJob(path, source, flags);
  if (hasVariables) throw refused;
  return {
    job: jobFromJson(source),
    name: path,
    submission: { Source: source, Format: 'json', VariableFlags: {}, Variables: '' },
  };
}

/** Returns the client for the region and namespace of the job (CL-256). */
export const apiOf = (api: ApiClient, { job }: JobFile): ApiClient =>
  api.within({ region: textMember(job, 'Region'), namespace: textMember(job, 'Namespace') });
