import { msFromNs, type RootKey, renewalWaitMs } from '@waybill/model';

/** The shortest time in milliseconds for which others may cache the public keys (AU-179). */
const MIN_MAX_AGE_MS = 15 * 60_000;

/**
 * Returns for how many seconds others may cache the public keys (AU-179): half of the time until the newest key is
 * replaced, and up to a tenth of that more at random, so that not all clients ask at once.
 * @param rotationNs the age at which a key is replaced
 * @param random a number in [0, 1)
 */
export function maxAgeOf(
  keys: readonly Pick<RootKey, 'CreateTime'>[],
  rotationNs: number,
  nowMs: number,
  random: () => number,
): number {
  const newestNs = Math.max(0, ...keys.map(({ CreateTime }) => CreateTime));
  const leftMs = msFromNs(newestNs + rotationNs) - nowMs;
  return Math.floor(renewalWaitMs(leftMs, random(), MIN_MAX_AGE_MS) / 1_000);
}

/** Returns why others may refuse an issuer (AU-182), or undefined. @param issuer a URL; empty if there is none */
export function issuerWarning(issuer: string): string | undefined {
  if (issuer === '' || new URL(issuer).protocol === 'https:') return undefined;
  return `WAYBILL_OIDC_ISSUER = ${JSON.stringify(issuer)} is not using https. Many OIDC implementations require https.`;
}

/** Returns the document of `/.well-known/openid-configuration` (AU-181). @param issuer the configured URL */
export function discoveryDocument(issuer: string): Record<string, unknown> {
  return {
    issuer,
    jwks_uri: `${issuer.replace(/\/+$/, '')}/.well-known/jwks.json`,
    id_token_signing_alg_values_supported: ['RS256', 'EdDSA'],
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
  };
}
