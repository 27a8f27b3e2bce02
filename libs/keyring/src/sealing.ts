import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

/** The size in bytes of a cluster's key and of the keys that are derived from it. */
export const KEY_BYTES = 32;
/** The size in bytes of a nonce of AES-GCM. */
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';

/** Derives a separate key for each purpose (HKDF-SHA256), so that no derived key reveals another. */
export function derivedKey(clusterKey: Buffer, purpose: string): Buffer {
  if (clusterKey.length !== KEY_BYTES) throw new RangeError(`a key of ${KEY_BYTES} bytes is needed`);
  return Buffer.from(hkdfSync('sha256', clusterKey, Buffer.alloc(0), purpose, KEY_BYTES));
}

/**
 * Encrypts a text with AES-256-GCM so that only this owner can read it. The result is the nonce, the ciphertext and the
 * tag in base64.
 */
export function sealText(key: Buffer, nonce: Buffer, owner: string, text: string): string {
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(owner));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64');
}

/**
 * Decrypts a text. The result is undefined if it is damaged or was encrypted under another key or for another owner.
 */
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
