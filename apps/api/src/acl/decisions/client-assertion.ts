import path from 'node:path';
import type { ClientAssertion, ClientAssertionKey } from '@waybill/model';
import type { AssertionFiles } from '../assertion-files.store.js';
import type { GivenAssertion, GivenAssertionKey, GivenMethodConfig } from '../auth-method-request.js';
import { certificateOf, privateKeyOf } from '../pem-keys.js';
import { listedProblems } from './listed-problems.js';

/** The smallest size in bytes of a client secret that signs, by algorithm (AU-16). */
const LEAST_SECRET_BYTES: Readonly<Record<string, number>> = { HS256: 32, HS384: 48, HS512: 64 };
const RSA_ALGORITHMS: readonly string[] = ['RS256', 'RS384', 'RS512'];
const CERTIFICATE_HEADERS: readonly string[] = ['x5t#S256', 'x5t'];

/**
 * Returns an assertion with its defaults filled in (section 1.3, AU-15). It omits a key that is not used for signing.
 */
export function filledAssertion(given: GivenAssertion, { OIDCDiscoveryURL }: GivenMethodConfig): GivenAssertion {
  const { KeySource, Audience, KeyAlgorithm, PrivateKey, ExtraHeaders } = given;
  return {
    KeySource,
    Audience: Audience ?? [OIDCDiscoveryURL],
    KeyAlgorithm: filledAlgorithm(KeySource, KeyAlgorithm),
    PrivateKey: KeySource === 'private_key' ? PrivateKey && filledKey(PrivateKey) : null,
    ExtraHeaders,
  };
}

function filledAlgorithm(source: string, algorithm: string): string {
  if (source === 'nomad') return 'RS256';
  if (algorithm !== '') return algorithm;
  return source === 'client_secret' ? 'HS256' : 'RS256';
}

const filledKey = (key: GivenAssertionKey): GivenAssertionKey => ({
  ...key,
  KeyIDHeader: key.KeyIDHeader || (key.KeyID === '' ? 'x5t#S256' : 'kid'),
});

/** Returns the problems of an assertion (AU-14). @param clientSecret the given secret; empty if there is none */
export function assertionProblems(assertion: GivenAssertion, clientSecret: string): string[] {
  const { KeySource, Audience, PrivateKey } = assertion;
  const problems: string[] = [];
  if ((Audience?.[0] ?? '') === '') problems.push('missing Audience');
  switch (KeySource) {
    case 'nomad':
      break;
    case 'private_key':
      if (!PrivateKey) problems.push('PrivateKey is required for `private_key` KeySource');
      else for (const item of privateKeyProblems(PrivateKey)) problems.push(item);
      break;
    case 'client_secret':
      if (clientSecret === '') problems.push('OIDCClientSecret is required for `client_secret` KeySource');
      break;
    default:
      problems.push(`invalid KeySource "${KeySource}"`);
  }
  return problems;
}

function privateKeyProblems(key: GivenAssertionKey): string[] {
  const problems = [...keyTextProblems(key), ...keyNameProblems(key)];
  return problems.length === 0 ? [] : [`invalid PrivateKey: ${listedProblems(problems)}`];
}

function keyTextProblems({ PemKey, PemKeyFile }: GivenAssertionKey): string[] {
  if (PemKey === '' && PemKeyFile === '') return ['missing PemKey or PemKeyFile'];
  if (PemKey !== '' && PemKeyFile !== '') return ['require only one of PemKey or PemKeyFile'];
  if (PemKeyFile !== '' && !path.isAbsolute(PemKeyFile))
    return [`invalid PemKeyFile: must be absolute; got: ${PemKeyFile}`];
  return [];
}

function keyNameProblems({ PemCert, PemCertFile, KeyID, KeyIDHeader }: GivenAssertionKey): string[] {
  const problems: string[] = [];
  const given = [PemCert, PemCertFile, KeyID].filter((name) => name !== '');
  if (given.length === 0) problems.push('missing PemCert, PemCertFile, or KeyID');
  if (given.length > 1) problems.push('require only one of PemCert, PemCertFile, or KeyID');
  if (PemCertFile !== '' && !path.isAbsolute(PemCertFile))
    problems.push(`invalid PemCertFile: must be absolute; got: ${PemCertFile}`);
  if (KeyID !== '' && KeyIDHeader !== 'kid') problems.push('invalid KeyIDHeader; key header for key ID must be "kid"');
  if (KeyID === '' && !CERTIFICATE_HEADERS.includes(KeyIDHeader))
    problems.push('invalid KeyIDHeader; certificate-derived key header must be one of: "x5t#S256", "x5t"');
  return problems;
}

/**
 * AssertionSecrets has what an assertion is signed with. The functions return secrets in clear, so they are decrypted
 * only when needed.
 */
export interface AssertionSecrets {
  readonly clientSecret: () => string;
  readonly pemKey: () => string;
  readonly files: AssertionFiles;
  /** Why the cluster's own key cannot sign. Undefined if it can, or does not have to. */
  readonly clusterKeyProblem: string | undefined;
  readonly nowMs: number;
}

/**
 * Returns why a valid assertion cannot sign, because key, certificate and algorithm do not fit (AU-16). The result is
 * undefined if it can.
 */
export function assertionMisfit(assertion: GivenAssertion, secrets: AssertionSecrets): string | undefined {
  const { KeySource, KeyAlgorithm, PrivateKey } = assertion;
  if (KeySource === 'nomad') return secrets.clusterKeyProblem;
  if (KeySource === 'client_secret') return secretMisfit(KeyAlgorithm, secrets.clientSecret());
  if (!RSA_ALGORITHMS.includes(KeyAlgorithm)) return unsupported(KeyAlgorithm, RSA_ALGORITHMS);
  return PrivateKey ? keyMisfit(PrivateKey, secrets) : undefined;
}

const unsupported = (algorithm: string, supported: readonly string[]): string =>
  `unsupported KeyAlgorithm "${algorithm}": use ${supported.join(', ')}`;

function secretMisfit(algorithm: string, clientSecret: string): string | undefined {
  const least = Object.hasOwn(LEAST_SECRET_BYTES, algorithm) ? LEAST_SECRET_BYTES[algorithm] : undefined;
  if (least === undefined) return unsupported(algorithm, Object.keys(LEAST_SECRET_BYTES));
  if (Buffer.byteLength(clientSecret) >= least) return undefined;
  return `OIDCClientSecret is too short for ${algorithm}: it needs at least ${least} bytes`;
}

function keyMisfit(given: GivenAssertionKey, { pemKey, files, nowMs }: AssertionSecrets): string | undefined {
  const keyText = textOf(pemKey(), 'PemKeyFile', given.PemKeyFile, files);
  if ('problem' in keyText) return keyText.problem;
  const key = privateKeyOf(keyText.text);
  if (key?.asymmetricKeyType !== 'rsa') return 'the private key is no RSA key in PEM without a password';
  if (given.KeyID !== '') return undefined;
  const certificateText = textOf(given.PemCert, 'PemCertFile', given.PemCertFile, files);
  if ('problem' in certificateText) return certificateText.problem;
  const certificate = certificateOf(certificateText.text);
  if (!certificate) return 'there is no certificate in PEM';
  if (Date.parse(certificate.validTo) < nowMs || Date.parse(certificate.validFrom) > nowMs)
    return 'certificate has expired or is not yet valid';
  return certificate.checkPrivateKey(key) ? undefined : 'the private key is not the key of the certificate';
}

function textOf(given: string, member: string, file: string, files: AssertionFiles) {
  if (given !== '') return { text: given };
  const content = files.get(file) ?? { problem: 'it was not read' };
  return 'text' in content ? content : { problem: `cannot read ${member} ${file}: ${content.problem}` };
}

/** Returns a valid assertion in its stored form. @param sealedPemKey empty if there is no key or it is in a file */
export function storedAssertion(given: GivenAssertion, sealedPemKey: string): ClientAssertion {
  const { KeySource, Audience, KeyAlgorithm, PrivateKey, ExtraHeaders } = given;
  return {
    // `assertionProblems` has refused all other sources.
    KeySource: KeySource as ClientAssertion['KeySource'],
    Audience: Audience ?? [],
    KeyAlgorithm,
    PrivateKey: PrivateKey && storedKey(PrivateKey, sealedPemKey),
    ExtraHeaders,
  };
}

function storedKey({ PemKeyFile, PemCert, PemCertFile, KeyID, KeyIDHeader }: GivenAssertionKey, SealedPemKey: string) {
  const header = KeyIDHeader as ClientAssertionKey['KeyIDHeader'];
  return { SealedPemKey, PemKeyFile, PemCert, PemCertFile, KeyID, KeyIDHeader: header };
}
