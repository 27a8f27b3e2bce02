import { createHmac } from 'node:crypto';
import { derivedKey, NONCE_BYTES, openText, sealText } from '@waybill/keyring';
import { UnsealableError } from './token-secrets.js';

/** MethodSecret is the name of a secret of an auth method on the wire. */
export type MethodSecret = 'OIDCClientSecret' | 'PemKey';

/**
 * MethodSecrets encrypts an auth method's secrets before they enter the log (AU-24). Only the cluster's key decrypts an
 * encrypted secret, and only as this secret of this method. The same secret of a method always gives the same text, so
 * that a write without a change is recognized (AU-21). For this the nonce is an HMAC-SHA256 over the secret and its
 * owner, so two different secrets do not share a nonce. The class is pure. Cost: two passes over the secret.
 */
export class MethodSecrets {
  private readonly sealKey: Buffer;
  private readonly nonceKey: Buffer;

  /**
   * @param clusterKey KEY_BYTES bytes
   * @param other the other key, if secrets may be stored under it
   */
  constructor(
    clusterKey: Buffer,
    private readonly other?: MethodSecrets,
  ) {
    this.sealKey = derivedKey(clusterKey, 'waybill acl: seal of an auth method’s secret');
    this.nonceKey = derivedKey(clusterKey, 'waybill acl: nonce of an auth method’s secret');
  }

  seal(what: MethodSecret, method: string, secret: string): string {
    const owner = ownerOf(what, method);
    const mac = createHmac('sha256', this.nonceKey).update(`${owner}\0`).update(secret).digest();
    return sealText(this.sealKey, mac.subarray(0, NONCE_BYTES), owner, secret);
  }

  /** @throws UnsealableError */
  open(what: MethodSecret, method: string, sealed: string): string {
    const secret = openText(this.sealKey, ownerOf(what, method), sealed);
    if (secret !== undefined) return secret;
    if (this.other) return this.other.open(what, method, sealed);
    throw new UnsealableError(`ACL auth method ${method} (${what})`);
  }
}

/** Returns the owner of a secret. Names of methods contain no NUL. */
const ownerOf = (what: MethodSecret, method: string): string => `${what}\0${method}`;
