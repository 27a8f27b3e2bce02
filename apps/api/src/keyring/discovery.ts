import { NS_PER_SECOND, type RootKey } from '@waybill/model';

/** How long a root key is the active one before the next takes its place, s (OP-214). */
export const ROTATION_S = 720 * 3_600;
/** Least time for which others may remember the public keys, s (AU-179). */
const MIN_MAX_AGE_S = 15 * 60;

/**
 * For how many seconds others may remember the public keys (AU-179): half of the time until the newest key is replaced, and
 * up to a tenth of that more by chance, so that not everybody asks at once.
 * @param random in [0, 1)
 */
export function maxAgeOf(keys: readonly Pick<RootKey, 'CreateTime'>[], nowMs: number, random: () => number): number {
  const newestS = Math.max(0, ...keys.map(({ CreateTime }) => CreateTime / NS_PER_SECOND));
  const half = (newestS + ROTATION_S - nowMs / 1_000) / 2;
  return Math.max(MIN_MAX_AGE_S, Math.floor(half + (random() * half) / 10));
}

/** What `/.well-known/openid-configuration` says (AU-181). @param issuer as configured, a URL */
export function discoveryDocument(issuer: string): Record<string, unknown> {
  return {
    issuer,
    jwks_uri: `${issuer.replace(/\/+$/, '')}/.well-known/jwks.json`,
    id_token_signing_alg_values_supported: ['RS256', 'EdDSA'],
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
  };
}
