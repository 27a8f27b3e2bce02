import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Authenticator, credsAuthenticator, nkeyAuthenticator, nkeys } from '@nats-io/transport-node';
import { CannotCreateDirectoryError, makeDirectory } from '@waybill/processes';

/** The file does not say who this process is. Its text is never part of the message. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
  constructor(file: string, why: string, options?: ErrorOptions) {
    super(`no credentials for NATS in ${file}: ${why}`, options);
  }
}

/** Who a connection says it is. */
export interface NatsCredentials {
  readonly authenticator: Authenticator;
  /** Of the user: what the server knows it by. No secret. */
  readonly publicKey: string;
}

const SEED = /\bSU[A-Z2-7]{56}\b/;
const JWT = '-----BEGIN NATS USER JWT-----';

/**
 * Reads a file with the seed of a user's key, or one in the form `.creds`, with a token beside the seed.
 * @throws CredentialsError
 */
export async function readCredentials(file: string): Promise<NatsCredentials> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CredentialsError(file, 'it cannot be read', { cause });
  });
  const seed = SEED.exec(text)?.[0];
  if (seed === undefined) throw new CredentialsError(file, 'there is no seed of a user in it');
  const bytes = new TextEncoder().encode(seed);
  return {
    publicKey: publicKeyOf(file, bytes),
    authenticator: text.includes(JWT) ? credsAuthenticator(new TextEncoder().encode(text)) : nkeyAuthenticator(bytes),
  };
}

/** A new user's key. The seed is the secret. */
export function newUserKey(): { readonly seed: string; readonly publicKey: string } {
  const made = nkeys.createUser();
  return { seed: new TextDecoder().decode(made.getSeed()), publicKey: made.getPublicKey() };
}

/**
 * The public key of the user whose seed is in the file; a new seed is made where there is no file. Readable by the owner
 * only.
 * @throws CredentialsError
 */
export async function userKey(file: string): Promise<string> {
  const made = newUserKey();
  try {
    await makeDirectory(path.dirname(file), { mode: 0o700 });
    await writeFile(file, `${made.seed}\n`, { flag: 'wx', mode: 0o600 });
    return made.publicKey;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')
      return (await readCredentials(file)).publicKey;
    const why = cause instanceof CannotCreateDirectoryError ? cause.message : 'it cannot be written';
    throw new CredentialsError(file, why, { cause });
  }
}

/** Answers to what this user asks come in below a subject that no other user may listen to. */
export const inboxPrefixOf = (publicKey: string): string => `_INBOX.${publicKey}`;

function publicKeyOf(file: string, seed: Uint8Array): string {
  try {
    return nkeys.fromSeed(seed).getPublicKey();
  } catch (cause) {
    throw new CredentialsError(file, 'its seed is damaged', { cause });
  }
}
