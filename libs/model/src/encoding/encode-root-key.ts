import type { RootKey } from '../keyring/root-key.js';
import type { WireObject } from './wire-object.js';

/** A root key as clients see it: its metadata, nothing of the key, wrapped or public (section 10.3 of operator.md). */
export function encodeRootKey({ PublicKey: _public, Wrapped: _wrapped, ...metadata }: RootKey): WireObject {
  return { ...metadata };
}
