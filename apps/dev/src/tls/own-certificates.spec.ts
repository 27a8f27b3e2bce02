import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import '@waybill/certificates'; // what makes them takes long to load on a busy machine
import { ownCertificates } from './own-certificates.js';

const NOW = Date.UTC(2026, 10, 27);
const DAY_MS = 86_400_000;

let directory: string;
beforeEach(() => void (directory = path.join(mkdtempSync(path.join(tmpdir(), 'waybill-own-')), 'tls')));
afterEach(() => rmSync(path.dirname(directory), { recursive: true }));

const made = async (days = 0, region = 'global') =>
  (await ownCertificates(directory, region, NOW + days * DAY_MS)).made;
const read = (name: string): string => readFileSync(path.join(directory, name), 'utf8');

it('makes an authority and certificates once, for everything this computer is called', async () => {
  const files = await ownCertificates(directory, 'eu', NOW);
  expect(files.made).toBe('everything');
  const server = new X509Certificate(readFileSync(files.certFile));
  expect(server.verify(new X509Certificate(readFileSync(files.caFile)).publicKey)).toBe(true);
  for (const name of ['server.eu.nomad', 'client.eu.nomad', 'localhost'])
    expect(server.checkHost(name), name).toBe(name);
  for (const address of ['127.0.0.1', '::1']) expect(server.checkIP(address), address).toBeDefined();
  for (const name of ['ca-key.pem', 'server-key.pem', 'cli-key.pem'])
    expect(statSync(path.join(directory, name)).mode & 0o777, name).toBe(0o600);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  const before = read('server.pem');
  expect(await made(300, 'eu')).toBe('nothing');
  expect(read('server.pem')).toBe(before);
});

it('renews what ends within a month, the authority last', async () => {
  await made();
  const ca = read('ca.pem');
  expect(await made(334)).toBe('nothing');
  expect(await made(336)).toBe('certificates');
  expect(read('ca.pem')).toBe(ca);
  expect(await made(1_796)).toBe('everything');
  expect(read('ca.pem')).not.toBe(ca);
});

it('makes anew what is damaged, or is for another region', async () => {
  await made();
  expect(await made(0, 'west')).toBe('certificates');
  writeFileSync(path.join(directory, 'server.pem'), 'junk');
  expect(await made(0, 'west')).toBe('certificates');
  rmSync(path.join(directory, 'ca-key.pem'));
  expect(await made(0, 'west')).toBe('everything');
  expect(await made(0, 'west')).toBe('nothing');
});
