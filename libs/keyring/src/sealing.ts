import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

/** Bytes of a cluster's key, and of the keys that are derived from it. */
export const KEY_BYTES = 32;
/** Bytes of a nonce of AES-GCM. */
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** A key of its own for each purpose (HKDF-SHA256), so that none of them tells another. */
export function derivedKey(clusterKey: Buffer, purpose: string): Buffer {
  if (clusterKey.length !== KEY_BYTES) throw new RangeError(`a key of ${KEY_BYTES} bytes is needed`);
  return Buffer.from(hkdfSync('sha256', clusterKey, Buffer.alloc(0), purpose, KEY_BYTES));
}

/** AES-256-GCM, readable for this owner only; base64 of nonce, ciphertext and tag. */
export function sealText(key: Buffer, nonce: Buffer, owner: string, text: string): string {
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(owner));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64');
}

/** Undefined: sealed under another key or for another owner, or damaged. */
export function openText(key: Buffer, owner: string, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
