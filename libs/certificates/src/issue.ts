import { webcrypto } from 'node:crypto';
import { CertificateError, keyText, newKeys, parsedCertificate, signingKey, type KeyPair } from './keys.js';
import { newSerial, validity } from './certificate-fields.js';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from './x509.js';

/** How long a certificate is valid unless told otherwise. */
export const CERTIFICATE_DAYS = 365;

/** Whether its holder is called and calls others, or only calls. */
export type Purpose = 'both' | 'caller';

export interface IssueRequest {
  readonly authority: KeyPair;
  readonly commonName: string;
  /** DNS names the holder is reached under. */
  readonly names: readonly string[];
  /** IP addresses the holder is reached at. */
  readonly addresses: readonly string[];
  readonly purpose: Purpose;
  readonly days: number;
  readonly nowMs: number;
}

/** A new certificate. */
export interface IssuedPair extends KeyPair {
  readonly notAfter: Date;
  /** The authority ends before the days that were asked for, and the certificate with it. */
  readonly endsWithAuthority: boolean;
}

/** Makes a key and a certificate for it that the authority signs. @throws CertificateError */
export async function issueCertificate(request: IssueRequest): Promise<IssuedPair> {
  const { authority, nowMs } = request;
  const issuerKey = await signingKey(authority);
  if (!parsedCertificate(authority.certificate).ca) throw new CertificateError('the certificate is not that of a CA');
  const issuer = new X509Certificate(authority.certificate);
  if (issuer.notAfter.getTime() <= nowMs)
    throw new CertificateError(`the CA has ended on ${issuer.notAfter.toISOString()}: create another`);
  const keys = await newKeys();
  const wanted = validity(nowMs, request.days);
  const endsWithAuthority = wanted.notAfter > issuer.notAfter;
  const notAfter = endsWithAuthority ? issuer.notAfter : wanted.notAfter;
  const { serverAuth, clientAuth } = ExtendedKeyUsage;
  const certificate = await X509CertificateGenerator.create(
    {
      serialNumber: newSerial(),
      subject: new Name([{ CN: [request.commonName] }]).toString(),
      issuer: issuer.subject,
      notBefore: wanted.notBefore,
      notAfter,
      publicKey: keys.publicKey,
      signingKey: issuerKey,
      signingAlgorithm: { name: issuerKey.algorithm.name, hash: 'SHA-256' },
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension(request.purpose === 'both' ? [serverAuth, clientAuth] : [clientAuth]),
        new SubjectAlternativeNameExtension([
          ...request.names.map((value) => ({ type: 'dns', value }) as const),
          ...request.addresses.map((value) => ({ type: 'ip', value }) as const),
        ]),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
        await AuthorityKeyIdentifierExtension.create(issuer.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  const text = `${certificate.toString('pem')}\n`;
  return { certificate: text, key: await keyText(keys.privateKey), notAfter, endsWithAuthority };
}
