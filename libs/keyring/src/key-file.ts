import { open } from 'node:fs/promises';
import { errorText } from '@waybill/model';
import { KEY_BYTES } from './sealing.js';

/** The limit is larger than every form in which a key can be written. */
const MAX_FILE_BYTES = 1_024;
/** The permission bits of everybody but the owner. */
const OTHERS = 0o077;
/** The permission bits of everybody but the owner, without the group's right to read. */
const OTHERS_BUT_READING_GROUP = 0o037;
const ROOT = 0;

/** KeyFileError says that a file which should hold a key cannot be used. */
export class KeyFileError extends Error {
  override readonly name = 'KeyFileError';
}

/**
 * Reads the key from a file that only its owner may read: 32 bytes in hexadecimal or base64.
 * @param setting the name of the setting that names the file, for errors
 * @throws KeyFileError that says what to do
 */
export async function readKeyFile(path: string, setting: string): Promise<Buffer> {
  const { text, mode, owner } = await contentOf(path, setting);
  if (isOpenToOthers({ mode, owner }, process.geteuid?.() ?? ROOT))
    throw new KeyFileError(
      `${setting} ${path} is open to others than its owner (mode ${(mode & 0o777).toString(8)}): run chmod 600 ${path}`,
    );
  const key = keyFromText(text);
  if (!key)
    throw new KeyFileError(
      `${setting} ${path} holds no key: ${KEY_BYTES} bytes in hexadecimal or base64, such as "openssl rand -hex ${KEY_BYTES}" prints`,
    );
  return key;
}

/**
 * Says whether users other than root and the reader may read or change a file. A group may read a file that root owns:
 * this is how Kubernetes gives a Secret to a pod that does not run as root, and PostgreSQL accepts a key by the same
 * rule.
 */
export function isOpenToOthers({ mode, owner }: { mode: number; owner: number }, reader: number): boolean {
  const forbidden = owner === ROOT && reader !== ROOT ? OTHERS_BUT_READING_GROUP : OTHERS;
  return (mode & forbidden) !== 0;
}

async function contentOf(path: string, setting: string): Promise<{ text: string; mode: number; owner: number }> {
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
    throw new KeyFileError(`${setting} ${path} cannot be read: ${errorText(error)}`, { cause: error });
  }
}

const HEX = /^[0-9a-fA-F]{64}$/;
const BASE64 = /^[A-Za-z0-9+/]{43}=?$/;

/** Decodes 32 bytes in hexadecimal or base64. The result is undefined if the text is neither. */
export function keyFromText(given: string): Buffer | undefined {
  const text = given.trim();
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  if (!BASE64.test(text)) return undefined;
  const key = Buffer.from(text, 'base64');
  return key.length === KEY_BYTES ? key : undefined;
}
