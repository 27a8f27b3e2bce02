import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { expect, it } from 'vitest';
import { certificateOf, certificatesOf, privateKeyOf, verificationKey } from './pem-keys.js';
import { rsaCertificate } from './rsa-certificate.fixture.js';

const pemOf = (key: KeyObject): string => String(key.export({ type: 'spki', format: 'pem' }));

it('AU-13: keys that verify are RSA or EC public keys, also those of certificates', async () => {
  const { certificate, key } = await rsaCertificate(new Date(0), new Date('2100-01-01'));
  const rsa = pemOf(createPublicKey(key));
  const ec = pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey);
  const ed = pemOf(generateKeyPairSync('ed25519').publicKey);
  expect(verificationKey(rsa)?.asymmetricKeyType).toBe('rsa');
  expect(verificationKey(certificate)?.asymmetricKeyType).toBe('rsa');
  expect(verificationKey(ec)?.asymmetricKeyType).toBe('ec');
  const damaged = rsa.replace('MII', 'AAA');
  for (const text of ['', 'no key', ed, key, `${key}${rsa}`, damaged, '-----BEGIN PUBLIC KEY-----'])
    expect(verificationKey(text), text).toBeUndefined();
});

it('AU-13: every certificate of a text is readable, and no private key stands beside it', async () => {
  const { certificate, key } = await rsaCertificate(new Date(0), new Date('2100-01-01'));
  expect(certificatesOf(`${certificate}\n${certificate}`)).toHaveLength(2);
  const damaged = certificate.replace('MII', 'AAA');
  for (const text of ['', key, damaged, `${certificate}\n${damaged}`, `${certificate}\n${key}`])
    expect(certificatesOf(text), text).toBeUndefined();
  expect(certificateOf(`${certificate}\n${key}`)).toBeUndefined();
  expect(privateKeyOf(key)?.asymmetricKeyType).toBe('rsa');
  expect(privateKeyOf(certificate)).toBeUndefined();
});
