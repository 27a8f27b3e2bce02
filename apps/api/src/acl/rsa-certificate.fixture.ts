import 'reflect-metadata';
import { createPrivateKey, webcrypto } from 'node:crypto';
import { X509CertificateGenerator } from '@peculiar/x509';

/** Makes an RSA key and a self-signed certificate for it, both in PEM. */
export async function rsaCertificate(notBefore: Date, notAfter: Date): Promise<{ certificate: string; key: string }> {
  const algorithm = {
    name: 'RSASSA-PKCS1-v1_5',
    hash: 'SHA-256',
    modulusLength: 2_048,
    publicExponent: Uint8Array.of(1, 0, 1),
  };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=waybill',
    notBefore,
    notAfter,
    keys,
    signingAlgorithm: algorithm,
  });
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey));
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return { certificate: certificate.toString('pem'), key: String(key.export({ format: 'pem', type: 'pkcs8' })) };
}
