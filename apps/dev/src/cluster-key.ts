import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isErrno, makeDirectory } from '@waybill/processes';

/** Bytes of the keys under which secrets of tokens and root keys are stored. */
const KEY_BYTES = 32;

/** The file of the cluster's key, under which secrets of tokens are stored. */
export const clusterKeyIn = (directory: string): Promise<string> => keyFileIn(directory, 'acl.key');

/** The file of the key that wraps root keys. */
export const keyringKeyIn = (directory: string): Promise<string> => keyFileIn(directory, 'keyring.key');

/** The file of a key in a directory: that of before, or a new one, which only its owner may read. */
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
