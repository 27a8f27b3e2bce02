import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isErrno, makeDirectory } from '@waybill/processes';

/** The size in bytes of the keys that encrypt the secrets of tokens and the root keys. */
const KEY_BYTES = 32;

/** Returns the file of the cluster's key, which encrypts the secrets of tokens. */
export const clusterKeyIn = (directory: string): Promise<string> => keyFileIn(directory, 'acl.key');

/** Returns the file of the key that wraps root keys. */
export const keyringKeyIn = (directory: string): Promise<string> => keyFileIn(directory, 'keyring.key');

/**
 * Returns the file of a key in a directory. It makes the key if there is none yet. Only the owner may read the file.
 */
async function keyFileIn(directory: string, name: string): Promise<string> {
  await makeDirectory(directory, { mode: 0o700 });
  const file = path.join(directory, name);
  try {
    await writeFile(file, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error; // it is kept: without it no token would count, and no variable could be read
  }
  return file;
}
