import type { WrappedRootKey } from '@waybill/model';
import { randomBytes } from 'node:crypto';
import { derivedKey, NONCE_BYTES, openText, sealText } from './sealing.js';

/** Encrypts the private parts of root keys under a key that is stored neither in the log nor in the database (OP-210). */
export interface KeyWrapper {
  /** Stands in what it wrapped, so that another wrapper does not try. */
  readonly provider: string;
  /** @param keyId whose private parts these are; what was wrapped for one key does not unwrap for another @throws KeyServiceError */
  wrap(keyId: string, secret: string): Promise<WrappedRootKey>;
  /**
   * @throws KeyServiceError it cannot be said now; another Error: what was wrapped is another key's, is damaged, or was
   * wrapped under another key
   */
  unwrap(keyId: string, wrapped: WrappedRootKey): Promise<string>;
}

/** Purpose of the key that is derived from the configured one, so that the same file would not serve two purposes with one key. */
const PURPOSE = 'waybill keyring wrapping';

/** Wraps under a key of 32 bytes that this process has, from a file or from the environment (AES-256-GCM). */
export class AeadWrapper implements KeyWrapper {
  readonly provider = 'aead';
  private readonly key: Buffer;

  constructor(configuredKey: Buffer) {
    this.key = derivedKey(configuredKey, PURPOSE);
  }

  wrap(keyId: string, secret: string): Promise<WrappedRootKey> {
    const Data = sealText(this.key, randomBytes(NONCE_BYTES), keyId, secret);
    return Promise.resolve({ Provider: this.provider, Data });
  }

  unwrap(keyId: string, { Data }: WrappedRootKey): Promise<string> {
    const secret = openText(this.key, keyId, Data);
    if (secret === undefined)
      return Promise.reject(new Error('it was wrapped under another wrapping key, or is damaged'));
    return Promise.resolve(secret);
  }
}
