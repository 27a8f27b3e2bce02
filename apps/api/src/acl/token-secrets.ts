import { createHmac, randomBytes } from 'node:crypto';
import { derivedKey, NONCE_BYTES, openText, sealText } from '@waybill/keyring';

/** The number of digits of a fingerprint. */
const FINGERPRINT_DIGITS = 16;

/** UnsealableError says that a secret was encrypted under another key or for another accessor, or is damaged. */
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
 * TokenSecrets converts a token's secret to its stored forms. `hash` is the key under which a token is found: it is
 * equal for equal secrets, and useless without the cluster's key. `seal` is the form from which the secret is shown
 * again: each time another text, readable only with the cluster's key and the accessor. The class is pure except for
 * the nonces, of which 2^32 are safe under one key; a cluster makes fewer tokens. While the key changes, secrets that are
 * stored under the other key are found and read too, and new ones are stored under the present key. Cost: a hash, or a
 * block cipher over 36 bytes; twice that for secrets under the other key.
 */
export class TokenSecrets {
  private readonly hashKey: Buffer;
  private readonly sealKey: Buffer;
  private readonly fingerprintKey: Buffer;

  /**
   * @param clusterKey KEY_BYTES bytes
   * @param other the other key, if secrets may be stored under it
   */
  constructor(
    clusterKey: Buffer,
    private readonly random: (bytes: number) => Buffer = randomBytes,
    private readonly other?: TokenSecrets,
  ) {
    this.hashKey = derivedKey(clusterKey, 'waybill acl: hash of a secret');
    this.sealKey = derivedKey(clusterKey, 'waybill acl: seal of a secret');
    this.fingerprintKey = derivedKey(clusterKey, 'waybill acl: fingerprint of a refused credential');
  }

  /** Returns the HMAC-SHA256 in hexadecimal. */
  hash(secret: string): string {
    return createHmac('sha256', this.hashKey).update(secret).digest('hex');
  }

  /** Returns the hashes under which a secret may be stored, the present key's first. */
  hashes(secret: string): readonly string[] {
    return [this.hash(secret), ...(this.other ? [this.other.hash(secret)] : [])];
  }

  /**
   * Returns the mark of a refused credential in the audit log: 16 hexadecimal digits, the same for equal credentials
   * (AU-274). Its key is separate, so that it does not reveal a stored hash.
   */
  fingerprint(credential: string): string {
    return createHmac('sha256', this.fingerprintKey).update(credential).digest('hex').slice(0, FINGERPRINT_DIGITS);
  }

  /** Encrypts a secret for this accessor only. */
  seal(accessor: string, secret: string): string {
    return sealText(this.sealKey, this.random(NONCE_BYTES), accessor, secret);
  }

  /** @throws UnsealableError */
  open(accessor: string, sealed: string): string {
    const secret = openText(this.sealKey, accessor, sealed);
    if (secret !== undefined) return secret;
    if (this.other) return this.other.open(accessor, sealed);
    throw new UnsealableError(`ACL token ${accessor}`);
  }

  /** Says whether the present key sealed the text. */
  isPresent(accessor: string, sealed: string): boolean {
    return openText(this.sealKey, accessor, sealed) !== undefined;
  }
}
