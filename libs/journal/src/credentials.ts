import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Authenticator, credsAuthenticator, nkeyAuthenticator, nkeys } from '@nats-io/transport-node';
import { CannotCreateDirectoryError, makeDirectory } from '@waybill/processes';

/** The file contains no valid credentials. Its text is never part of the message. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
  constructor(file: string, why: string, options?: ErrorOptions) {
    super(`no credentials for NATS in ${file}: ${why}`, options);
  }
}

/** The identity of a connection. */
export interface NatsCredentials {
  readonly authenticator: Authenticator;
  /** The user's public key, by which the server knows the user. No secret. */
  readonly publicKey: string;
}

const SEED = /\bSU[A-Z2-7]{56}\b/;
const JWT = '-----BEGIN NATS USER JWT-----';

/**
 * Reads a file with the seed of a user's key, or a file of the form `.creds`, which has a token beside the seed.
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

/** Makes the key of a new user. The seed is the secret. */
export function newUserKey(): { readonly seed: string; readonly publicKey: string } {
  const made = nkeys.createUser();
  return { seed: new TextDecoder().decode(made.getSeed()), publicKey: made.getPublicKey() };
}

/**
 * The public key of the user whose seed is in the file. If there is no file, it is created with a new seed, readable by
 * its owner only. @throws CredentialsError
 */
export async function userKey(file: string): Promise<string> {
  const made = newUserKey();
  return (await createSeedFile(file, made.seed)) ? made.publicKey : (await readCredentials(file)).publicKey;
}

/** Creates a file with a seed, readable by its owner only. @returns whether there was none @throws CredentialsError */
export async function createSeedFile(file: string, seed: string): Promise<boolean> {
  try {
    await makeDirectory(path.dirname(file), { mode: 0o700 });
    await writeFile(file, `${seed}\n`, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    const why = cause instanceof CannotCreateDirectoryError ? cause.message : 'it cannot be written';
    throw new CredentialsError(file, why, { cause });
  }
}

/** Prefix of the user's reply subjects, on which no other user may listen. */
export const inboxPrefixOf = (publicKey: string): string => `_INBOX.${publicKey}`;

function publicKeyOf(file: string, seed: Uint8Array): string {
  try {
    return nkeys.fromSeed(seed).getPublicKey();
  } catch (cause) {
    throw new CredentialsError(file, 'its seed is damaged', { cause });
  }
}
