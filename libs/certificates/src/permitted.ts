import { AsnConvert } from '@peculiar/asn1-schema';
import { id_ce_nameConstraints, NameConstraints } from '@peculiar/asn1-x509';
import { parsedCertificate } from './keys.js';
import { X509Certificate } from './x509.js';

/** DNS names that an authority may sign for; empty: any. @throws CertificateError */
export function permittedDomains(pem: string): readonly string[] {
  const { raw } = parsedCertificate(pem);
  const constraint = new X509Certificate(raw).getExtension(id_ce_nameConstraints);
  if (!constraint) return [];
  const { permittedSubtrees } = AsnConvert.parse(constraint.value, NameConstraints);
  return (permittedSubtrees ?? []).flatMap(({ base: { dNSName } }) => (dNSName === undefined ? [] : [dNSName]));
}
