import { nsFromMs } from '@waybill/model/clock';
import { CommandFailure, causeOf } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { type ExactJson, parseExact } from '../terminal/exact-json.js';
import { givenText } from './given-text.js';

/** Flags for the members of an auth method. Only `create` takes the name as a flag. */
export const METHOD_FLAGS: readonly Flag[] = [
  { name: 'type', kind: 'text', value: 'OIDC|JWT', help: 'Type of the auth method.' },
  {
    name: 'max-token-ttl',
    kind: 'duration',
    value: 'duration',
    help: 'Life of the tokens that the method creates, such as 8h.',
  },
  { name: 'token-locality', kind: 'text', value: 'local|global', help: 'Where those tokens are valid.' },
  {
    name: 'token-name-format',
    kind: 'text',
    value: 'format',
    help: 'Template for names of tokens (default ${auth_method_type}-${auth_method_name}).',
  },
  { name: 'default', kind: 'switch', help: 'Use this method for logins that name none.' },
  {
    name: 'config',
    kind: 'text',
    value: 'json|@file|-',
    help: 'Configuration in JSON: the text itself, a file, or stdin.',
  },
];

const LOCALITIES: readonly (string | undefined)[] = ['local', 'global'];
const TYPES: readonly (string | undefined)[] = ['OIDC', 'JWT'];

type Members = { [member: string]: ExactJson };

/** Builds a new method from the flags (AU-295). @throws CommandFailure that names the first missing flag */
export async function wholeMethod(flags: ParsedFlags): Promise<Members> {
  const name = flags.text('name');
  if (name === undefined) throw new CommandFailure('ACL auth method name must be specified using the -name flag');
  if (!LOCALITIES.includes(flags.text('token-locality')))
    throw new CommandFailure("Token locality must be set to either 'local' or 'global'");
  if ((flags.durationMs('max-token-ttl') ?? 0) <= 0)
    throw new CommandFailure('Max token TTL must be set to a value between min and max TTL configured for the server.');
  if (!TYPES.includes(flags.text('type')?.toUpperCase()))
    throw new CommandFailure("ACL auth method type must be set to 'OIDC' or 'JWT'");
  if (flags.text('config') === undefined)
    throw new CommandFailure('Must provide ACL auth method config in JSON format');
  return { Name: name, ...(await methodMembers(flags)) };
}

/** Returns the members of a method that flags set. @throws CommandFailure */
export async function methodMembers(flags: ParsedFlags): Promise<Members> {
  const [type, ttlMs] = [flags.text('type'), flags.durationMs('max-token-ttl')];
  const [locality, format] = [flags.text('token-locality'), flags.text('token-name-format')];
  const config = flags.text('config');
  return {
    ...(type !== undefined && { Type: type.toUpperCase() }),
    ...(ttlMs !== undefined && { MaxTokenTTL: nsFromMs(ttlMs) }),
    ...(locality !== undefined && { TokenLocality: locality }),
    ...(format !== undefined && { TokenNameFormat: format }),
    ...(flags.given('default') && { Default: flags.on('default') }),
    ...(config !== undefined && { Config: await givenConfig(config) }),
  };
}

/** Whether any flag sets a member. */
export const changesMethod = (flags: ParsedFlags): boolean =>
  METHOD_FLAGS.some(({ name, kind }) => (kind === 'text' ? flags.text(name) !== undefined : flags.given(name)));

async function givenConfig(given: string): Promise<ExactJson> {
  const text = await configText(given).catch((error: unknown) => {
    throw new CommandFailure(`Error loading configuration: ${causeOf(error)}`);
  });
  try {
    return parseExact(text);
  } catch (error) {
    throw new CommandFailure(`Unable to parse config: ${causeOf(error)}`);
  }
}

async function configText(given: string): Promise<string> {
  if (given === '-') return givenText('-');
  return given.startsWith('@') ? givenText(given.slice(1)) : given;
}
