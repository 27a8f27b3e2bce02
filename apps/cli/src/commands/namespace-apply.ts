import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { parseNamespace } from '@waybill/jobspec';
import type { ServerCommand } from '../command-spec.js';
import { AnswerFailure } from '../server/api-failure.js';
import type { ApiClient } from '../server/api-client.js';
import { type ExactJson, membersOf, parseExact } from '../terminal/exact-json.js';
import { CommandFailure, failed } from '../failure.js';
import { explained, sourceName } from '../jobs/hcl-text.js';
import { memberOf, textMember } from '../jobs/job-file.js';

type Members = { [member: string]: ExactJson };

/** Creates or updates a namespace from flags or a file (CL-831). */
export const command: ServerCommand = {
  usage: '<name>|<file>|-',
  description:
    'Creates or changes a namespace, from flags, or from a specification in HCL or JSON in a file or on stdin ' +
    '("-").\n\nNeeds a management token.',
  flags: [
    { name: 'description', kind: 'text', value: 'text', help: 'Description.' },
    { name: 'quota', kind: 'text', value: 'name', help: 'Quota of the namespace.' },
    { name: 'json', kind: 'switch', help: 'The file is JSON (recognised without this flag too).' },
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <input>' },
  async run({ api, args, flags, terminal }) {
    const [given = ''] = args;
    const isFile = given === '-' || existsSync(given);
    if (isFile && (flags.given('description') || flags.given('quota')))
      terminal.warn('Flags are ignored when a file is specified!');
    const changes = { ...defined('Description', flags.text('description')), ...defined('Quota', flags.text('quota')) };
    const body = isFile ? await specification(given) : { ...(await stored(api, given)), ...changes };
    await api.put('/v1/namespace', body).catch((error: unknown) => {
      throw failed('applying namespace', error);
    });
    terminal.print(`Successfully applied namespace "${textMember(body, 'Name') ?? ''}"!`);
    return 0;
  },
};

const defined = (name: string, value: string | undefined): Members => (value === undefined ? {} : { [name]: value });

/** Reads the stored namespace, whose members stay unless a flag changes them. @throws CommandFailure */
async function stored(api: ApiClient, name: string): Promise<Members> {
  try {
    return membersOf((await api.get(`/v1/namespace/${encodeURIComponent(name)}`)).exact);
  } catch (error) {
    if (error instanceof AnswerFailure && error.status === 404) return { Name: name };
    throw failed('retrieving namespace', error);
  }
}

/** @throws CommandFailure */
async function specification(path: string): Promise<Members> {
  try {
    const text = await (path === '-' ? textOf(process.stdin) : readFile(path, 'utf8'));
    if (!text.trimStart().startsWith('{')) return membersOf(parseNamespace({ name: sourceName(path), text }));
    const members = membersOf(parseExact(text));
    const name = memberOf(members, 'Name');
    if (typeof name !== 'string' || name === '') throw new Error('the namespace has no "Name"');
    return members;
  } catch (error) {
    throw new CommandFailure(`Failed to parse input content: ${explained(error)}`);
  }
}
