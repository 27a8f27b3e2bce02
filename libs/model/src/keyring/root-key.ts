import { NS_PER_HOUR } from '../time/clock.js';

/** What a root key is used for now. Exactly one key is active (OP-210). */
export type RootKeyState = 'active' | 'inactive' | 'rekeying' | 'prepublished';

/** How items of variables are encrypted: the only algorithm there is. */
export const ROOT_KEY_ALGORITHM = 'aes256-gcm';

/** The private parts of a root key, encrypted under a key that neither the log nor the database holds (OP-210). */
export interface WrappedRootKey {
  /** What wrapped it, and must unwrap it: `aead` or `transit`. */
  Provider: string;
  /** As the provider writes it. */
  Data: string;
}

/** The public half of a root key's RSA pair, as a JWK has it: base64url without padding (OP-215). */
export interface RootPublicKey {
  n: string;
  e: string;
}

/** How long a root key is the active one before the next takes its place (OP-214). */
export const ROOT_KEY_ROTATION_NS = 720 * NS_PER_HOUR;
/** How much older than that an unused inactive key must be to be collected (GC-80). */
export const ROOT_KEY_COLLECTION_NS = NS_PER_HOUR;

/**
 * A root key as it is stored: AES-256 for variables and RSA-2048 for identities, the private parts wrapped. Answers show its
 * metadata only (`encodeRootKey`).
 */
export interface RootKey {
  KeyID: string;
  Algorithm: typeof ROOT_KEY_ALGORITHM;
  State: RootKeyState;
  /** Unix ns. */
  CreateTime: number;
  /** When a prepublished key becomes active, unix ns; 0: it never was prepublished. */
  PublishTime: number;
  PublicKey: RootPublicKey;
  Wrapped: WrappedRootKey;
  CreateIndex: number;
  ModifyIndex: number;
}

export type RootKeySpecification = Omit<RootKey, 'CreateIndex' | 'ModifyIndex'>;
