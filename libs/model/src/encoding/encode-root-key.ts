import type { RootKey } from '../keyring/root-key.js';
import type { WireObject } from './wire-object.js';

/**
 * Encodes a root key for clients: only its metadata, neither the wrapped nor the public key (section 10.3 of
 * operator.md).
 */
export function encodeRootKey({ PublicKey: _public, Wrapped: _wrapped, ...metadata }: RootKey): WireObject {
  return { ...metadata };
}
