import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/** Bytes of a cluster's key, and of the keys that are derived from it. */
export const KEY_BYTES = 32;
/** Bytes of a nonce of AES-GCM. With random nonces one key is good for 2^32 seals; a cluster makes fewer tokens. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Digits of a fingerprint. */
const FINGERPRINT_DIGITS = 16;
const CIPHER = 'aes-256-gcm';

/** A sealed secret was sealed under another key or for another accessor, or is damaged. */
export class UnsealableError extends Error {
  override readonly name = 'UnsealableError';
  constructor(accessor: string) {
    super(
      `the secret of ACL token ${accessor} was not sealed with the key in WAYBILL_ACL_KEY_FILE: give this server the key of the cluster`,
    );
  }
}

/**
 * What becomes of a token's secret before it is stored. `hash` is what a token is found by: the same for equal secrets,
 * and of no use without the key. `seal` is what the secret is shown from again: another text each time, readable with the
 * key and the accessor only. All keys are derived from the cluster's key (HKDF-SHA256), so that none tells another.
 * Pure but for the nonces. Cost: a hash, or a block cipher over 36 bytes.
 */
export class TokenSecrets {
  private readonly hashKey: Buffer;
  private readonly sealKey: Buffer;
  private readonly fingerprintKey: Buffer;

  /** @param clusterKey KEY_BYTES bytes */
  constructor(
    clusterKey: Buffer,
    private readonly random: (bytes: number) => Buffer = randomBytes,
  ) {
    if (clusterKey.length !== KEY_BYTES) throw new RangeError(`a key of ${KEY_BYTES} bytes is needed`);
    this.hashKey = derived(clusterKey, 'waybill acl: hash of a secret');
    this.sealKey = derived(clusterKey, 'waybill acl: seal of a secret');
    this.fingerprintKey = derived(clusterKey, 'waybill acl: fingerprint of a refused credential');
  }

  /** HMAC-SHA256, hexadecimal. */
  hash(secret: string): string {
    return createHmac('sha256', this.hashKey).update(secret).digest('hex');
  }

  /**
   * What a refused credential is known by in the audit log: 16 hexadecimal digits, the same for equal credentials (AU-274).
   * Under a key of its own, so that it leads to no stored hash.
   */
  fingerprint(credential: string): string {
    return createHmac('sha256', this.fingerprintKey).update(credential).digest('hex').slice(0, FINGERPRINT_DIGITS);
  }

  /** AES-256-GCM with a nonce of its own, for this accessor only; base64 of nonce, ciphertext and tag. */
  seal(accessor: string, secret: string): string {
    const nonce = this.random(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.sealKey, nonce).setAAD(Buffer.from(accessor));
    const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64');
  }

  /** @throws UnsealableError */
  open(accessor: string, sealed: string): string {
    const bytes = Buffer.from(sealed, 'base64');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new UnsealableError(accessor);
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.sealKey, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(accessor)).setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString('utf8');
    } catch {
      throw new UnsealableError(accessor);
    }
  }
}

const derived = (key: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), purpose, KEY_BYTES));
