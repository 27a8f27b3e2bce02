import { webcrypto } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_nameConstraints,
  NameConstraints,
} from '@peculiar/asn1-x509';
import { keyText, newKeys, type KeyPair } from './keys.js';
import { newSerial, validity } from './certificate-fields.js';
import {
  BasicConstraintsExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from './x509.js';

/** How long an authority is valid unless told otherwise: five years. */
export const AUTHORITY_DAYS = 1_825;

export interface AuthorityRequest {
  /** The serial number is appended, so that two authorities never have the same name. */
  readonly commonName: string;
  readonly organization: string;
  readonly days: number;
  /** DNS names that its certificates may have, those below them included; undefined: any. */
  readonly permittedDomains?: readonly string[];
  readonly nowMs: number;
}

/** Makes a self-signed certificate authority that signs certificates, and no further authorities. */
export async function createAuthority(request: AuthorityRequest): Promise<KeyPair> {
  const { commonName, organization, days, permittedDomains, nowMs } = request;
  const keys = await newKeys();
  const serialNumber = newSerial();
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      serialNumber,
      name: new Name([{ CN: [`${commonName} ${BigInt(`0x${serialNumber}`)}`] }, { O: [organization] }]).toString(),
      ...validity(nowMs, days),
      keys,
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(
          KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature,
          true,
        ),
        await SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
        ...(permittedDomains === undefined ? [] : [constraintOf(permittedDomains)]),
      ],
    },
    webcrypto,
  );
  return { certificate: `${certificate.toString('pem')}\n`, key: await keyText(keys.privateKey) };
}

function constraintOf(domains: readonly string[]): Extension {
  const subtrees = domains.map((dNSName) => new GeneralSubtree({ base: new GeneralName({ dNSName }) }));
  const constraints = new NameConstraints({ permittedSubtrees: new GeneralSubtrees(subtrees) });
  return new Extension(id_ce_nameConstraints, true, AsnConvert.serialize(constraints));
}
