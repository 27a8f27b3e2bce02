import { createPrivateKey, generateKeyPairSync, webcrypto, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createAuthority } from './authority.js';
import { describeCertificate } from './describe.js';
import { savePair } from './files.js';
import { issueCertificate, type IssueRequest } from './issue.js';
import { permittedDomains } from './permitted.js';
import { BasicConstraintsExtension, X509CertificateGenerator } from './x509.js';

const NOW = Date.UTC(2026, 10, 27);
const DAY_MS = 86_400_000;

const authority = (days = 10) => createAuthority({ commonName: 'Test CA', organization: 'Waybill', days, nowMs: NOW });

const issue = (given: Partial<IssueRequest> & Pick<IssueRequest, 'authority'>) =>
  issueCertificate({
    commonName: 'server.global.nomad',
    names: ['server.global.nomad', 'localhost'],
    addresses: ['127.0.0.1', '::1'],
    purpose: 'both',
    days: 5,
    nowMs: NOW,
    ...given,
  });

describe('an authority', () => {
  it('signs itself, is an authority, and has its serial number in its name', async () => {
    const { certificate, key } = await authority();
    const parsed = new X509Certificate(certificate);
    expect(parsed.ca).toBe(true);
    expect(parsed.verify(parsed.publicKey)).toBe(true);
    expect(parsed.checkPrivateKey(createPrivateKey(key))).toBe(true);
    const info = describeCertificate(certificate);
    expect(info.subject).toBe(`CN=Test CA ${info.serialNumber},O=Waybill`);
    expect(info.issuerCommonName).toBe(`Test CA ${info.serialNumber}`);
    expect(info.notAfter).toEqual(new Date(NOW + 10 * DAY_MS));
    expect(permittedDomains(certificate)).toEqual([]);
  });

  it('with a constraint names the domains it may sign for', async () => {
    const { certificate } = await createAuthority({
      commonName: 'Test CA',
      organization: 'Waybill',
      days: 1,
      permittedDomains: ['foo.com', 'localhost'],
      nowMs: NOW,
    });
    expect(permittedDomains(certificate)).toEqual(['foo.com', 'localhost']);
  });
});

describe('a certificate', () => {
  it('is signed by the authority, for its names and addresses only', async () => {
    const by = await authority();
    const issued = await issue({ authority: by });
    const parsed = new X509Certificate(issued.certificate);
    expect(parsed.checkIssued(new X509Certificate(by.certificate))).toBe(true);
    expect(parsed.verify(new X509Certificate(by.certificate).publicKey)).toBe(true);
    expect(parsed.checkPrivateKey(createPrivateKey(issued.key))).toBe(true);
    expect(parsed.checkHost('server.global.nomad')).toBe('server.global.nomad');
    expect(parsed.checkHost('client.global.nomad')).toBeUndefined();
    expect(parsed.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(parsed.ca).toBe(false);
    expect(parsed.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    expect(describeCertificate(issued.certificate)).toMatchObject({
      subject: 'CN=server.global.nomad',
      isAuthority: false,
      names: ['server.global.nomad', 'localhost'],
      addresses: ['127.0.0.1', '0:0:0:0:0:0:0:1'],
      notAfter: new Date(NOW + 5 * DAY_MS),
    });
  });

  it('that only calls may not be shown by a server', async () => {
    const issued = await issue({ authority: await authority(), purpose: 'caller' });
    expect(new X509Certificate(issued.certificate).keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
  });

  it('ends no later than its authority', async () => {
    const issued = await issue({ authority: await authority(3) });
    expect(issued).toMatchObject({ endsWithAuthority: true, notAfter: new Date(NOW + 3 * DAY_MS) });
    await expect(issue({ authority: await authority(3), nowMs: NOW + 3 * DAY_MS })).rejects.toThrow('has ended on');
  });

  it('is signed with a key in the form that openssl writes too', async () => {
    const { certificate, key } = await authority();
    const sec1 = createPrivateKey(key).export({ format: 'pem', type: 'sec1' }).toString();
    expect(sec1).toContain('EC PRIVATE KEY');
    const issued = await issue({ authority: { certificate, key: sec1 } });
    expect(new X509Certificate(issued.certificate).checkIssued(new X509Certificate(certificate))).toBe(true);
  });

  it('is signed by an authority with an RSA key, made elsewhere', async () => {
    const algorithm = {
      name: 'RSASSA-PKCS1-v1_5',
      hash: 'SHA-256',
      modulusLength: 2_048,
      publicExponent: new Uint8Array([1, 0, 1]),
    };
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const made = await X509CertificateGenerator.createSelfSigned(
      {
        name: 'CN=Elsewhere',
        notBefore: new Date(NOW - DAY_MS),
        notAfter: new Date(NOW + DAY_MS),
        keys,
        signingAlgorithm: algorithm,
        extensions: [new BasicConstraintsExtension(true)],
      },
      webcrypto,
    );
    const key = createPrivateKey({
      key: Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)),
      format: 'der',
      type: 'pkcs8',
    });
    const by = { certificate: made.toString('pem'), key: key.export({ format: 'pem', type: 'pkcs1' }).toString() };
    const issued = await issue({ authority: by });
    const parsed = new X509Certificate(issued.certificate);
    expect(parsed.verify(new X509Certificate(by.certificate).publicKey)).toBe(true);
    expect(describeCertificate(issued.certificate).issuerCommonName).toBe('Elsewhere');
  });

  it('is not signed with a key that is not the authority’s, or by what is no authority', async () => {
    const [one, two] = [await authority(), await authority()];
    await expect(issue({ authority: { certificate: one.certificate, key: two.key } })).rejects.toThrow(
      'not the key of the CA certificate',
    );
    await expect(issue({ authority: await issue({ authority: one }) })).rejects.toThrow('not that of a CA');
    await expect(issue({ authority: { ...one, certificate: 'x' } })).rejects.toThrow('there is no certificate in PEM');
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
    const locked = rsa.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' }).toString();
    await expect(issue({ authority: { ...one, key: locked } })).rejects.toThrow('it has a password');
  });
});

describe('files', () => {
  it('are written both or not at all, the key for its owner only, and never over others', async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-pair-'));
    try {
      const files = { certificate: path.join(dir, 'a.pem'), key: path.join(dir, 'a-key.pem') };
      await savePair(files, { certificate: 'c', key: 'k' });
      expect(statSync(files.key).mode & 0o777).toBe(0o600);
      await expect(savePair(files, { certificate: 'd', key: 'l' })).rejects.toThrow(
        `${files.certificate} already exists`,
      );
      writeFileSync(path.join(dir, 'b.pem'), 'mine');
      await expect(
        savePair(
          { certificate: path.join(dir, 'b.pem'), key: path.join(dir, 'b-key.pem') },
          { certificate: 'c', key: 'k' },
        ),
      ).rejects.toThrow('b.pem already exists');
      expect(readdirSync(dir).toSorted()).toEqual(['a-key.pem', 'a.pem', 'b.pem']);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
