import type { WrappedRootKey } from '@waybill/model';
import { type Entropy, SYSTEM_ENTROPY } from './entropy.js';
import { derivedKey, NONCE_BYTES, openText, sealText } from './sealing.js';

/**
 * KeyWrapper encrypts the private parts of root keys under a key that neither the log nor the database contains
 * (OP-210).
 */
export interface KeyWrapper {
  /** The provider's name is stored with what it wrapped, so that no other wrapper tries to unwrap it. */
  readonly provider: string;
  /**
   * @param keyId the root key whose private parts these are; unwrapping for another key fails @throws KeyServiceError
   */
  wrap(keyId: string, secret: string): Promise<WrappedRootKey>;
  /**
   * @throws KeyServiceError if there is no verdict now; another Error if the data belongs to another key, is damaged,
   * or was wrapped under another wrapping key
   */
  unwrap(keyId: string, wrapped: WrappedRootKey): Promise<string>;
  /** Says whether an older version of the wrapping key wrapped this, as far as the wrapper knows. */
  isOutdated?(wrapped: WrappedRootKey): boolean;
  /** Learns which version of the wrapping key wraps now. @throws KeyServiceError */
  refresh?(): Promise<void>;
}

/**
 * The purpose from which the wrapping key is derived. A file that also serves another purpose then gives a different
 * key there.
 */
const PURPOSE = 'waybill keyring wrapping';

/**
 * AeadWrapper wraps under a key of 32 bytes that this process got from a file or from the environment (AES-256-GCM).
 */
export class AeadWrapper implements KeyWrapper {
  readonly provider = 'aead';
  private readonly key: Buffer;

  constructor(
    configuredKey: Buffer,
    private readonly entropy: Entropy = SYSTEM_ENTROPY,
  ) {
    this.key = derivedKey(configuredKey, PURPOSE);
  }

  wrap(keyId: string, secret: string): Promise<WrappedRootKey> {
    const Data = sealText(this.key, this.entropy.bytes(NONCE_BYTES), keyId, secret);
    return Promise.resolve({ Provider: this.provider, Data });
  }

  unwrap(keyId: string, { Data }: WrappedRootKey): Promise<string> {
    const secret = openText(this.key, keyId, Data);
    if (secret === undefined)
      return Promise.reject(new Error('it was wrapped under another wrapping key, or is damaged'));
    return Promise.resolve(secret);
  }
}
