import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isErrno, makeDirectory } from '@waybill/processes';

/** Bytes of the key under which secrets of tokens are stored. */
const KEY_BYTES = 32;

/** The file of the cluster's key in a directory: that of before, or a new one, which only its owner may read. */
export async function clusterKeyIn(directory: string): Promise<string> {
  await makeDirectory(directory, { mode: 0o700 });
  const file = path.join(directory, 'acl.key');
  try {
    await writeFile(file, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error; // it is kept: without it no token would count any more
  }
  return file;
}
