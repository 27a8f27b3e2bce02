import { MAX_METHOD_CONFIG_BYTES, MAX_METHOD_ENTRIES, MAX_METHOD_TEXT_BYTES, nameLengthErrors } from '@waybill/model';
import type { GivenMethodConfig } from '../auth-method-request.js';
import type { LoginHosts } from '../login-hosts.js';
import { certificatesOf, verificationKey } from '../pem-keys.js';
import { assertionProblems } from './client-assertion.js';
import { listedProblems } from './listed-problems.js';

/** The algorithms with which third parties may sign their tokens (section 1.2). */
export const SIGNING_ALGORITHMS: ReadonlySet<string> = new Set(
  'RS256 RS384 RS512 ES256 ES384 ES512 PS256 PS384 PS512 EdDSA'.split(' '),
);

/**
 * Returns the problems of a configuration as a client sends it, with its defaults filled in (AU-12 to AU-14, AU-108).
 */
export function configProblems(config: GivenMethodConfig, type: string, loginHosts: LoginHosts): string[] {
  return [...sourceProblems(config, type), ...contentProblems(config, loginHosts), ...sizeProblems(config)];
}

/** Returns the problems of the source of the method's tokens. The sources of an unknown type are not checked. */
function sourceProblems(config: GivenMethodConfig, type: string): string[] {
  const { OIDCDiscoveryURL, OIDCClientID, OIDCClientSecret, OIDCClientAssertion, JWKSURL, JWTValidationPubKeys } =
    config;
  const problems: string[] = [];
  if (type === 'OIDC' && OIDCDiscoveryURL === '') problems.push('missing OIDCDiscoveryURL');
  if (type === 'OIDC' && OIDCClientID === '') problems.push('missing OIDCClientID');
  const wrong = OIDCClientAssertion ? assertionProblems(OIDCClientAssertion, OIDCClientSecret) : [];
  if (wrong.length > 0) problems.push(`invalid client assertion config: ${listedProblems(wrong)}`);
  if (type === 'JWT' && OIDCDiscoveryURL === '' && JWKSURL === '' && JWTValidationPubKeys === null)
    problems.push('JWT auth method requires either OIDCDiscoveryURL, or JWKS URL, or JWTValidationPubKeys set');
  return problems;
}

/** Returns the problems that the reference finds only at a login (AU-13). It fetches nothing. */
function contentProblems(config: GivenMethodConfig, loginHosts: LoginHosts): string[] {
  const problems: string[] = [];
  if (!(config.JWTValidationPubKeys ?? []).every(verificationKey))
    problems.push('unable to parse public key for JWT auth: data does not contain any valid RSA or ECDSA public keys');
  const authorities = [...(config.DiscoveryCaPem ?? []), ...(config.JWKSCACert === '' ? [] : [config.JWKSCACert])];
  if (!authorities.every(certificatesOf)) problems.push('invalid CA certificate');
  for (const algorithm of config.SigningAlgs ?? [])
    if (!SIGNING_ALGORITHMS.has(algorithm)) problems.push(`unsupported signing algorithm "${algorithm}"`);
  for (const member of ['OIDCDiscoveryURL', 'JWKSURL'] as const) {
    const url = config[member];
    if (url === '') continue;
    if (!isHttpUrl(url)) problems.push(`invalid ${member} "${url}": it must be an absolute http or https URL`);
    else if (!loginHosts.allows(url))
      problems.push(`invalid ${member} "${url}": logins may not call that host (WAYBILL_ACL_LOGIN_ALLOWED_HOSTS)`);
  }
  for (const uri of config.AllowedRedirectURIs ?? [])
    if (!URL.canParse(uri)) problems.push(`invalid redirect URI "${uri}"`);
  return problems;
}

function isHttpUrl(text: string): boolean {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  return protocol === 'http:' || protocol === 'https:';
}

const SHORT_TEXTS = ['JWKSURL', 'OIDCDiscoveryURL', 'OIDCClientID', 'OIDCClientSecret'] as const;
/** The size limit of the whole configuration also limits these keys and certificates. */
const PEM_LISTS = ['JWTValidationPubKeys', 'DiscoveryCaPem'] as const;
const SHORT_LISTS = ['OIDCScopes', 'AllowedRedirectURIs', 'BoundAudiences', 'BoundIssuer', 'SigningAlgs'] as const;
const MAPS = ['ClaimMappings', 'ListClaimMappings'] as const;

function sizeProblems(config: GivenMethodConfig): string[] {
  const problems = SHORT_TEXTS.flatMap((member) => nameLengthErrors(member, config[member], MAX_METHOD_TEXT_BYTES));
  for (const member of PEM_LISTS) for (const item of entryProblems(member, config[member] ?? [])) problems.push(item);
  for (const member of SHORT_LISTS) for (const item of listProblems(member, config[member] ?? [])) problems.push(item);
  for (const member of MAPS) for (const item of mapProblems(member, config[member])) problems.push(item);
  const { OIDCClientAssertion } = config;
  for (const item of listProblems('Audience', OIDCClientAssertion?.Audience ?? [])) problems.push(item);
  for (const item of mapProblems('ExtraHeaders', OIDCClientAssertion?.ExtraHeaders ?? null)) problems.push(item);
  if (Buffer.byteLength(JSON.stringify(config)) > MAX_METHOD_CONFIG_BYTES)
    problems.push(`it is larger than ${MAX_METHOD_CONFIG_BYTES} bytes`);
  return problems;
}

function mapProblems(member: string, map: Record<string, string> | null): string[] {
  const entries = Object.entries(map ?? {});
  return [...entryProblems(member, entries), ...textProblems(member, entries.flat())];
}

const listProblems = (member: string, texts: readonly string[]): string[] => [
  ...entryProblems(member, texts),
  ...textProblems(member, texts),
];

const entryProblems = (member: string, entries: readonly unknown[]): string[] =>
  entries.length > MAX_METHOD_ENTRIES ? [`${member} has more than ${MAX_METHOD_ENTRIES} entries`] : [];

const textProblems = (member: string, texts: readonly string[]): string[] =>
  texts.some((text) => Buffer.byteLength(text) > MAX_METHOD_TEXT_BYTES)
    ? [`${member} has a text longer than ${MAX_METHOD_TEXT_BYTES} bytes`]
    : [];
