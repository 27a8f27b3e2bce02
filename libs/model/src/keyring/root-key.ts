import { NS_PER_HOUR } from '../time/clock.js';

/** Present use of a root key. Exactly one key is active (OP-210). */
export type RootKeyState = 'active' | 'inactive' | 'rekeying' | 'prepublished';

/** Algorithm that encrypts the items of variables. There is no other. */
export const ROOT_KEY_ALGORITHM = 'aes256-gcm';

/** The private parts of a root key, encrypted under a key that neither the log nor the database holds (OP-210). */
export interface WrappedRootKey {
  /** Provider that wrapped the key and must unwrap it: `aead` or `transit`. */
  Provider: string;
  /** The wrapped key in the provider's own format. */
  Data: string;
}

/** Public half of a root key's RSA pair, in the form of a JWK: base64url without padding (OP-215). */
export interface RootPublicKey {
  n: string;
  e: string;
}

/** Time for which a root key is active before the next key replaces it (OP-214). */
export const ROOT_KEY_ROTATION_NS = 720 * NS_PER_HOUR;
/** An unused inactive key is collected once it is this much older than the rotation time (GC-80). */
export const ROOT_KEY_COLLECTION_NS = NS_PER_HOUR;

/**
 * A stored root key: AES-256 for variables and RSA-2048 for identities, with wrapped private parts. Responses show only
 * its metadata (`encodeRootKey`).
 */
export interface RootKey {
  KeyID: string;
  Algorithm: typeof ROOT_KEY_ALGORITHM;
  State: RootKeyState;
  /** In unix ns. */
  CreateTime: number;
  /** Time at which a prepublished key becomes active, in unix ns. 0 if the key was never prepublished. */
  PublishTime: number;
  PublicKey: RootPublicKey;
  Wrapped: WrappedRootKey;
  CreateIndex: number;
  ModifyIndex: number;
}

export type RootKeySpecification = Omit<RootKey, 'CreateIndex' | 'ModifyIndex'>;
