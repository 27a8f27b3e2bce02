import { randomBytes } from 'node:crypto';
import type { RootKeyMaterial } from './root-key-material.js';
import { NONCE_BYTES, openText, sealText } from './sealing.js';

/** Items of a variable. */
export type Items = Readonly<Record<string, string>>;

/** Whose items they are: what was sealed for one variable does not open for another. */
export interface Owner {
  readonly Namespace: string;
  readonly Path: string;
}

/** Items as they are stored: AES-256-GCM under a root key. */
export interface SealedItems {
  KeyID: string;
  /** Base64 of nonce, ciphertext and tag. */
  Data: string;
}

/** Key and owner are the additional data, so that neither can be exchanged (OP-204). */
const boundTo = (keyId: string, { Namespace, Path }: Owner): string => JSON.stringify([keyId, Namespace, Path]);

/** Equal items are sealed differently each time: the nonce is fresh. */
export function sealItemsWith({ keyId, encryptionKey }: RootKeyMaterial, owner: Owner, items: Items): SealedItems {
  const Data = sealText(encryptionKey, randomBytes(NONCE_BYTES), boundTo(keyId, owner), JSON.stringify(items));
  return { KeyID: keyId, Data };
}

/** Undefined: sealed for another variable or under another key, or damaged. */
export function openItemsWith(
  { keyId, encryptionKey }: RootKeyMaterial,
  owner: Owner,
  data: string,
): Items | undefined {
  const text = openText(encryptionKey, boundTo(keyId, owner), data);
  return text === undefined ? undefined : (JSON.parse(text) as Items); // authenticated: written by sealItemsWith
}
