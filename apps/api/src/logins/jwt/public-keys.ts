import type { KeyObject } from 'node:crypto';
import { verificationKey } from '../../acl/pem-keys.js';

/** UnreadableKeyError says that a key of a method cannot be read. */
export class UnreadableKeyError extends Error {
  override readonly name = 'UnreadableKeyError';
}

/** Reads the public keys of a method, each a key or a certificate in PEM (1.2). @throws UnreadableKeyError */
export function publicKeys(pems: readonly string[]): readonly KeyObject[] {
  return pems.map((pem) => {
    const key = verificationKey(pem);
    if (!key) throw new UnreadableKeyError('data does not contain any valid RSA or ECDSA public keys');
    return key;
  });
}
