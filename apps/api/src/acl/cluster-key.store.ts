import { open } from 'node:fs/promises';
import { errorText } from '@waybill/model';
import { KEY_BYTES } from './sealing.js';

/** More than any way to write a key down takes. */
const MAX_FILE_BYTES = 1_024;
/** Rights of anybody but the owner. */
const OTHERS = 0o077;
/** The same, but for the group's right to read. */
const OTHERS_BUT_READING_GROUP = 0o037;
const ROOT = 0;

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
  const { text, mode, owner } = await contentOf(path);
  if (isOpenToOthers({ mode, owner }, process.geteuid?.() ?? ROOT))
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

/**
 * Whether others than root and the reader may read or change a file. A file of root's may be read by a group: so Kubernetes
 * gives a Secret to a pod that is not root, and PostgreSQL takes a key by the same rule.
 */
export function isOpenToOthers({ mode, owner }: { mode: number; owner: number }, reader: number): boolean {
  const forbidden = owner === ROOT && reader !== ROOT ? OTHERS_BUT_READING_GROUP : OTHERS;
  return (mode & forbidden) !== 0;
}

async function contentOf(path: string): Promise<{ text: string; mode: number; owner: number }> {
  try {
    const file = await open(path, 'r');
    try {
      const { mode, uid: owner } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0);
      return { text: buffer.toString('latin1', 0, bytesRead), mode, owner };
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
