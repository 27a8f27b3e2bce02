import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** The pattern of a private key. People paste it along with a certificate, and only one member may hold it. */
const PRIVATE = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const VERIFIES = /-----BEGIN (PUBLIC KEY|CERTIFICATE)-----/;
const KEY_TYPES: ReadonlySet<string | undefined> = new Set(['rsa', 'ec']);
const BLOCK = /(-----BEGIN [A-Z0-9 ]+-----)([^-]*)(-----END [A-Z0-9 ]+-----)/g;

/**
 * Returns the key that verifies the signatures of a JWT: an RSA or EC public key (PKIX), or that of a certificate. The
 * result is undefined if the text has none, or has a private key, which must not be in a method.
 */
export function verificationKey(pem: string): KeyObject | undefined {
  if (PRIVATE.test(pem)) return undefined;
  const [, kind] = VERIFIES.exec(pem) ?? [];
  const key =
    kind === 'CERTIFICATE' ? certificateOf(pem)?.publicKey : kind && parsed(() => createPublicKey(withLineBreaks(pem)));
  return key && KEY_TYPES.has(key.asymmetricKeyType) ? key : undefined;
}

/** Returns the certificates of a text. The result is undefined if there is none or one is damaged. */
export function certificatesOf(pem: string): X509Certificate[] | undefined {
  if (PRIVATE.test(pem)) return undefined;
  const all = Array.from(pem.matchAll(CERTIFICATES), ([text]) => certificateOf(text));
  const readable = all.filter((certificate) => certificate !== undefined);
  return readable.length > 0 && readable.length === all.length ? readable : undefined;
}

/** Returns the first certificate of a text, unless the text contains a private key too. */
export const certificateOf = (pem: string): X509Certificate | undefined =>
  PRIVATE.test(pem) ? undefined : parsed(() => new X509Certificate(withLineBreaks(pem)));

/** Returns a private key in PEM without a password, PKCS #1 or #8. */
export const privateKeyOf = (pem: string): KeyObject | undefined => parsed(() => createPrivateKey(withLineBreaks(pem)));

function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

/** Restores the line breaks of a PEM text that a client has put into one line (AU-105). */
const withLineBreaks = (pem: string): string =>
  pem.replaceAll(
    BLOCK,
    (_, begin: string, body: string, end: string) => `${begin}\n${body.replaceAll(/\s+/g, '\n').trim()}\n${end}`,
  );
