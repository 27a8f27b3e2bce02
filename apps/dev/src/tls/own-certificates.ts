import { X509Certificate } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import path from 'node:path';
import type { KeyPair } from '@waybill/certificates';
import { isErrno, makeDirectory } from '@waybill/processes';

/** A certificate that ends sooner than this is made anew at the next start, because nobody starts Waybill every day. */
const RENEW_MS = 30 * 24 * 3_600_000;

/** OwnCertificates are files in PEM in the data directory. */
export interface OwnCertificates {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** The certificate for people and programs that call the API, if the API requires one. */
  readonly cliCertFile: string;
  readonly cliKeyFile: string;
}

/** Made says what a start made, for the person who reads the output. */
export type Made = 'everything' | 'certificates' | 'nothing';

/**
 * Returns the authority and the certificates of this installation. It makes new ones if there are none, if they end
 * soon, or if this computer has got another address. Only the owner may read the keys.
 * @param region the region whose names the certificates have
 */
export async function ownCertificates(
  directory: string,
  region: string,
  nowMs: number,
): Promise<OwnCertificates & { readonly made: Made }> {
  await makeDirectory(directory, { mode: 0o700 });
  const at = (name: string): string => path.join(directory, name);
  const files: OwnCertificates = {
    caFile: at('ca.pem'),
    certFile: at('server.pem'),
    keyFile: at('server-key.pem'),
    cliCertFile: at('cli.pem'),
    cliKeyFile: at('cli-key.pem'),
  };
  const known = await pairIn(files.caFile, at('ca-key.pem'));
  const authority = known && lasts(known, nowMs) ? known : undefined;
  const own = namesOf(region);
  const cli = { names: [`cli.${region}.nomad`], addresses: [] };
  const wanted = [
    { cert: files.certFile, key: files.keyFile, purpose: 'both', ...own },
    { cert: files.cliCertFile, key: files.cliKeyFile, purpose: 'caller', ...cli },
  ] as const;
  const missing = [];
  for (const one of wanted)
    if (!authority || !isGood(await pairIn(one.cert, one.key), authority, [...one.names, ...one.addresses], nowMs))
      missing.push(one);
  if (missing.length === 0) return { ...files, made: 'nothing' };
  const { AUTHORITY_DAYS, CERTIFICATE_DAYS, createAuthority, issueCertificate } = await import('@waybill/certificates');
  const signer =
    authority ??
    (await createAuthority({ commonName: 'Waybill Local CA', organization: 'Waybill', days: AUTHORITY_DAYS, nowMs }));
  if (!authority) await replacePair(files.caFile, at('ca-key.pem'), signer);
  for (const { cert, key, names, addresses, purpose } of missing) {
    const [commonName = ''] = names;
    const request = { authority: signer, commonName, names, addresses, purpose, days: CERTIFICATE_DAYS, nowMs };
    await replacePair(cert, key, await issueCertificate(request));
  }
  return { ...files, made: authority ? 'certificates' : 'everything' };
}

/**
 * Returns the names of a server and of a machine of the region, as clients of Nomad check them, and all names and
 * addresses of this computer.
 */
function namesOf(region: string): { readonly names: readonly string[]; readonly addresses: readonly string[] } {
  const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const addresses = own.map(({ address }) => address).filter((address) => !address.startsWith('fe80:'));
  const host = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/.test(hostname()) ? [hostname()] : [];
  return {
    names: [`server.${region}.nomad`, `client.${region}.nomad`, 'localhost', ...host],
    addresses: [...new Set(['127.0.0.1', '::1', ...addresses])],
  };
}

/** Reads a certificate and its key. The result is undefined if they are missing or damaged; they are then made anew. */
async function pairIn(certFile: string, keyFile: string): Promise<KeyPair | undefined> {
  try {
    const pair = { certificate: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
    return parsed(pair) && pair;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function parsed({ certificate }: KeyPair): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate);
  } catch {
    return undefined;
  }
}

const lasts = (pair: KeyPair, nowMs: number): boolean => Date.parse(parsed(pair)?.validTo ?? '') - nowMs > RENEW_MS;

function isGood(pair: KeyPair | undefined, authority: KeyPair, names: readonly string[], nowMs: number): boolean {
  const [certificate, ca] = [pair && parsed(pair), parsed(authority)];
  if (!pair || !certificate || !ca || !lasts(pair, nowMs) || !certificate.verify(ca.publicKey)) return false;
  return names.every(
    (name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined,
  );
}

/**
 * Replaces a certificate and its key. A reader in the meantime finds one of the two pairs, or sees that the files do
 * not belong together.
 */
async function replacePair(certFile: string, keyFile: string, { certificate, key }: KeyPair): Promise<void> {
  for (const [file, text, mode] of [
    [keyFile, key, 0o600],
    [certFile, certificate, 0o644],
  ] as const) {
    await writeFile(`${file}.new`, text, { mode });
    await rename(`${file}.new`, file);
  }
}
