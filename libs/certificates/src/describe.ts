import type { X509Certificate } from 'node:crypto';
import { parsedCertificate } from './keys.js';

/** What a certificate says of itself. */
export interface CertificateInfo {
  /** Decimal. */
  readonly serialNumber: string;
  readonly issuerCommonName: string;
  /** The whole subject, `CN=…,O=…`. */
  readonly subject: string;
  readonly notAfter: Date;
  readonly isAuthority: boolean;
  readonly names: readonly string[];
  readonly addresses: readonly string[];
}

/** Reads the first certificate of a text in PEM. @throws CertificateError */
export function describeCertificate(pem: string): CertificateInfo {
  const certificate = parsedCertificate(pem);
  const { names, addresses } = alternativeNames(certificate);
  return {
    serialNumber: String(BigInt(`0x${certificate.serialNumber}`)),
    issuerCommonName: /^CN=(.*)$/m.exec(certificate.issuer)?.[1] ?? '',
    subject: certificate.subject.split('\n').join(','),
    notAfter: new Date(certificate.validTo),
    isAuthority: certificate.ca,
    names,
    addresses,
  };
}

/** DNS names and IP addresses of a certificate in PEM. @throws CertificateError */
export const certificateNames = (pem: string): readonly string[] => {
  const { names, addresses } = alternativeNames(parsedCertificate(pem));
  return [...names, ...addresses];
};

/** As node writes them: `DNS:localhost, IP Address:127.0.0.1`. Names that need quotes are none of a host. */
function alternativeNames({ subjectAltName = '' }: X509Certificate): { names: string[]; addresses: string[] } {
  const parts = subjectAltName.split(', ');
  const of = (kind: string) => parts.filter((part) => part.startsWith(kind)).map((part) => part.slice(kind.length));
  return { names: of('DNS:'), addresses: of('IP Address:') };
}
