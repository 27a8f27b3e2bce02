import type { Call, ServerCommand } from '../command-spec.js';
import { givenSecret } from '../access/given-text.js';
import { namesOf, TOKEN_FLAGS, tokenMembers } from '../access/token-flags.js';
import { isTokenSecret } from '../access/own-token.js';
import { printToken, type Token } from '../access/token-text.js';
import { causeOf, CommandFailure, failed, isInterrupt } from '../failure.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { isNotFound } from '../server/api-failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { parseDuration } from '@waybill/model/duration';

/** Creates a token, or imports a token under `-accessor` (CL-841, AU-303). */
export const command: ServerCommand = {
  usage: '[<file>|-]',
  description:
    'Creates a token and prints it with its secret. With -accessor, it imports a client token of another ' +
    'cluster, and reads its secret from a file or from stdin ("-").\n\nNeeds a management token.',
  flags: [
    ...TOKEN_FLAGS,
    {
      name: 'ttl',
      kind: 'text',
      value: 'duration',
      help: 'Life of the token, such as 8h (default: it never expires).',
    },
    { name: 'accessor', kind: 'text', value: 'uuid', help: 'Accessor of the imported token.' },
    ...DATA_FLAGS,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes up to one argument' },
  async run(call) {
    const { api, flags } = call;
    const life = lifetime(flags);
    const identity = await importedIdentity(call);
    await warnOfMissingPolicies(call);
    const token = { Type: 'client', ...tokenMembers(flags), ...life, ...identity };
    const answer = await api.put<Token>('/v1/acl/token', token).catch((error: unknown) => {
      throw failed(identity ? 'uploading token' : 'creating token', error);
    });
    printToken(call, answer);
    return 0;
  },
};

/** @throws CommandFailure */
function lifetime(flags: ParsedFlags): { ExpirationTTL: string } | undefined {
  const ttl = flags.text('ttl');
  if (ttl === undefined) return undefined;
  if (parseDuration(ttl) === undefined)
    throw new CommandFailure(`Failed to parse TTL as time duration: time: invalid duration ${JSON.stringify(ttl)}`);
  return { ExpirationTTL: ttl };
}

/**
 * Reads the accessor and the secret of another cluster's token. Returns undefined if the server should create both.
 * @throws CommandFailure
 */
async function importedIdentity({ args: [source], flags }: Pick<Call, 'args' | 'flags'>) {
  const AccessorID = flags.text('accessor');
  if (AccessorID === undefined && source === undefined) return undefined;
  if (AccessorID === undefined) throw new CommandFailure('A SecretID file path was provided but -accessor was not set');
  if (source === undefined)
    throw new CommandFailure('-accessor requires a SecretID supplied as a file path or "-" for stdin');
  if (!isTokenSecret(AccessorID)) throw new CommandFailure('-accessor value must be a valid UUID');
  const SecretID = await givenSecret(source).catch((error: unknown) => {
    throw failed('reading SecretID', error);
  });
  if (!isTokenSecret(SecretID)) throw new CommandFailure('SecretID must be a valid UUID');
  return { AccessorID, SecretID };
}

/** Warns of policies that do not exist yet, which is allowed (CL-842). Other errors are left to the creation itself. */
async function warnOfMissingPolicies({ api, flags, terminal }: Call): Promise<void> {
  for (const name of new Set(namesOf(flags, 'policy')))
    await api.get(`/v1/acl/policy/${encodeURIComponent(name)}`).catch((error: unknown) => {
      if (isInterrupt(error)) throw error;
      if (isNotFound(error)) terminal.warn(`Error fetching info on ${name} policy: ${causeOf(error)}`);
    });
}
