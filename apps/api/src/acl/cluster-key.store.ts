import { open } from 'node:fs/promises';
import { errorText } from '@waybill/model';
import { KEY_BYTES } from './token-secrets.js';

/** More than any way to write a key down takes. */
const MAX_FILE_BYTES = 1_024;
/** Rights of anybody but the owner. */
const OTHERS = 0o077;

/** The file with the cluster's key cannot be used. */
export class ClusterKeyError extends Error {
  override readonly name = 'ClusterKeyError';
}

/**
 * The cluster's key (WAYBILL_ACL_KEY_FILE): 32 bytes in hexadecimal or base64, in a file that its owner alone may read.
 * @throws ClusterKeyError saying what to do
 */
export async function readClusterKey(path: string): Promise<Buffer> {
  if (path === '')
    throw new ClusterKeyError(
      'WAYBILL_ACL_ENABLED is set and WAYBILL_ACL_KEY_FILE is not: make a key with "openssl rand -hex 32", in a file of mode 600, the same for every API',
    );
  const { text, mode } = await contentOf(path);
  if ((mode & OTHERS) !== 0)
    throw new ClusterKeyError(
      `WAYBILL_ACL_KEY_FILE ${path} is open to others than its owner (mode ${(mode & 0o777).toString(8)}): run chmod 600 ${path}`,
    );
  const key = keyOf(text.trim());
  if (!key)
    throw new ClusterKeyError(
      `WAYBILL_ACL_KEY_FILE ${path} holds no key: ${KEY_BYTES} bytes in hexadecimal or base64, such as "openssl rand -hex ${KEY_BYTES}" prints`,
    );
  return key;
}

async function contentOf(path: string): Promise<{ text: string; mode: number }> {
  try {
    const file = await open(path, 'r');
    try {
      const { mode } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0);
      return { text: buffer.toString('latin1', 0, bytesRead), mode };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new ClusterKeyError(`WAYBILL_ACL_KEY_FILE ${path} cannot be read: ${errorText(error)}`, { cause: error });
  }
}

const HEX = /^[0-9a-fA-F]{64}$/;
const BASE64 = /^[A-Za-z0-9+/]{43}=?$/;

function keyOf(text: string): Buffer | undefined {
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  if (!BASE64.test(text)) return undefined;
  const key = Buffer.from(text, 'base64');
  return key.length === KEY_BYTES ? key : undefined;
}
