import type { Entropy } from './entropy.js';
import type { RootKeyMaterial } from './root-key-material.js';
import { NONCE_BYTES, openText, sealText } from './sealing.js';

/** Items are the items of a variable. */
export type Items = Readonly<Record<string, string>>;

/**
 * Owner is the variable that the items belong to. Items that were encrypted for one variable cannot be decrypted for
 * another.
 */
export interface Owner {
  readonly Namespace: string;
  readonly Path: string;
}

/** SealedItems is the stored form of items: AES-256-GCM under a root key. */
export interface SealedItems {
  KeyID: string;
  /** The nonce, the ciphertext and the tag in base64. */
  Data: string;
}

/** The additional data contains key and owner, so neither can be exchanged (OP-204). */
const boundTo = (keyId: string, { Namespace, Path }: Owner): string => JSON.stringify([keyId, Namespace, Path]);

/** Encrypts items with a fresh nonce, so equal items give different results each time. */
export function sealItemsWith(
  { keyId, encryptionKey }: RootKeyMaterial,
  owner: Owner,
  items: Items,
  entropy: Entropy,
): SealedItems {
  const Data = sealText(encryptionKey, entropy.bytes(NONCE_BYTES), boundTo(keyId, owner), JSON.stringify(items));
  return { KeyID: keyId, Data };
}

/**
 * Decrypts items. The result is undefined if they are damaged or were encrypted for another variable or under another
 * key.
 */
export function openItemsWith(
  { keyId, encryptionKey }: RootKeyMaterial,
  owner: Owner,
  data: string,
): Items | undefined {
  const text = openText(encryptionKey, boundTo(keyId, owner), data);
  return text === undefined ? undefined : (JSON.parse(text) as Items); // authenticated: written by sealItemsWith
}
