import { createPrivateKey, type KeyObject, webcrypto, X509Certificate } from 'node:crypto';

/** A certificate and its private key, both in PEM. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate or key that cannot be used. The message says why. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

/** New keys are on the curve P-256, which every TLS 1.2 implementation knows. */
const NEW_KEY = { name: 'ECDSA', namedCurve: 'P-256' } as const;

/** Curves as OpenSSL and as WebCrypto call them. */
const CURVES: Readonly<Record<string, string>> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

type Key = webcrypto.CryptoKey;

export async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(NEW_KEY, true, ['sign', 'verify']);
}

/** The private key as PKCS #8 in PEM. */
export async function keyText(key: Key): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    .export({ format: 'pem', type: 'pkcs8' })
    .toString();
}

/**
 * The key of an authority, in any form of PEM without a password: PKCS #8, or what openssl and `nomad` write.
 * @throws CertificateError when it is no key, or not the key of the certificate
 */
export async function signingKey({ certificate, key: text }: KeyPair): Promise<Key> {
  const key = privateKey(text);
  if (!parsedCertificate(certificate).checkPrivateKey(key))
    throw new CertificateError('the key is not the key of the CA certificate');
  const der = key.export({ format: 'der', type: 'pkcs8' });
  return webcrypto.subtle.importKey('pkcs8', der, algorithmOf(key), false, ['sign']);
}

/** The first certificate in a text. @throws CertificateError */
export function parsedCertificate(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new CertificateError('there is no certificate in PEM');
  }
}

function privateKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    throw new CertificateError('there is no private key in PEM, or it has a password');
  }
}

function algorithmOf(key: KeyObject): webcrypto.EcKeyImportParams | webcrypto.RsaHashedImportParams {
  const namedCurve = CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''];
  if (namedCurve !== undefined) return { name: 'ECDSA', namedCurve };
  if (key.asymmetricKeyType === 'rsa') return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  throw new CertificateError('the key of a CA is RSA, or on the curve P-256, P-384 or P-521');
}
