import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** Keys that must stay secret are pasted along with a certificate: no member but one may hold them. */
const PRIVATE = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
const VERIFIES = /-----BEGIN (PUBLIC KEY|CERTIFICATE)-----/;
const KEY_TYPES: ReadonlySet<string | undefined> = new Set(['rsa', 'ec']);
const BLOCK = /(-----BEGIN [A-Z0-9 ]+-----)([^-]*)(-----END [A-Z0-9 ]+-----)/g;

/**
 * The key by which signatures of a JWT are verified: an RSA or EC public key (PKIX), or that of a certificate. Undefined:
 * the text holds none, or a private key, which belongs in no method.
 */
export function verificationKey(pem: string): KeyObject | undefined {
  if (PRIVATE.test(pem)) return undefined;
  const [, kind] = VERIFIES.exec(pem) ?? [];
  const key =
    kind === 'CERTIFICATE' ? certificateOf(pem)?.publicKey : kind && parsed(() => createPublicKey(withLineBreaks(pem)));
  return key && KEY_TYPES.has(key.asymmetricKeyType) ? key : undefined;
}

/** The certificates of a text, each readable; undefined: there is none, or one is damaged. */
export function certificatesOf(pem: string): X509Certificate[] | undefined {
  if (PRIVATE.test(pem)) return undefined;
  const all = Array.from(pem.matchAll(CERTIFICATES), ([text]) => certificateOf(text));
  const readable = all.filter((certificate) => certificate !== undefined);
  return readable.length > 0 && readable.length === all.length ? readable : undefined;
}

/** The first certificate of a text, if no private key is in it too. */
export const certificateOf = (pem: string): X509Certificate | undefined =>
  PRIVATE.test(pem) ? undefined : parsed(() => new X509Certificate(withLineBreaks(pem)));

/** A private key in PEM without a password, PKCS #1 or #8. */
export const privateKeyOf = (pem: string): KeyObject | undefined => parsed(() => createPrivateKey(withLineBreaks(pem)));

function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

/** PEM that a client has put into one line, with line breaks again (AU-105). */
const withLineBreaks = (pem: string): string =>
  pem.replaceAll(
    BLOCK,
    (_, begin: string, body: string, end: string) => `${begin}\n${body.replaceAll(/\s+/g, '\n').trim()}\n${end}`,
  );
