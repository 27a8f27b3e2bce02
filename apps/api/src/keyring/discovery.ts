import { msFromNs, ROOT_KEY_ROTATION_NS, type RootKey, renewalWaitMs } from '@waybill/model';

/** Least time for which others may remember the public keys, ms (AU-179). */
const MIN_MAX_AGE_MS = 15 * 60_000;

/**
 * For how many seconds others may remember the public keys (AU-179): half of the time until the newest key is replaced, and
 * up to a tenth of that more by chance, so that not everybody asks at once.
 * @param random in [0, 1)
 */
export function maxAgeOf(keys: readonly Pick<RootKey, 'CreateTime'>[], nowMs: number, random: () => number): number {
  const newestNs = Math.max(0, ...keys.map(({ CreateTime }) => CreateTime));
  const leftMs = msFromNs(newestNs + ROOT_KEY_ROTATION_NS) - nowMs;
  return Math.floor(renewalWaitMs(leftMs, random(), MIN_MAX_AGE_MS) / 1_000);
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
