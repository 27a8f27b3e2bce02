import { createHmac, randomBytes } from 'node:crypto';
import { derivedKey, NONCE_BYTES, openText, sealText } from '@waybill/keyring';

/** Digits of a fingerprint. */
const FINGERPRINT_DIGITS = 16;

/** A sealed secret was sealed under another key or for another accessor, or is damaged. */
export class UnsealableError extends Error {
  override readonly name = 'UnsealableError';
  /** @param owner the object whose secret it is */
  constructor(owner: string) {
    super(
      `the secret of ${owner} was not sealed with the key in WAYBILL_ACL_KEY_FILE: give this server the key of the cluster`,
    );
  }
}

/**
 * What becomes of a token's secret before it is stored. `hash` is what a token is found by: the same for equal secrets,
 * and of no use without the key. `seal` is what the secret is shown from again: another text each time, readable with the
 * key and the accessor only. Pure but for the nonces, of which one key is good for 2^32; a cluster makes fewer tokens.
 * Cost: a hash, or a block cipher over 36 bytes.
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
    this.hashKey = derivedKey(clusterKey, 'waybill acl: hash of a secret');
    this.sealKey = derivedKey(clusterKey, 'waybill acl: seal of a secret');
    this.fingerprintKey = derivedKey(clusterKey, 'waybill acl: fingerprint of a refused credential');
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

  /** For this accessor only. */
  seal(accessor: string, secret: string): string {
    return sealText(this.sealKey, this.random(NONCE_BYTES), accessor, secret);
  }

  /** @throws UnsealableError */
  open(accessor: string, sealed: string): string {
    const secret = openText(this.sealKey, accessor, sealed);
    if (secret === undefined) throw new UnsealableError(`ACL token ${accessor}`);
    return secret;
  }
}
