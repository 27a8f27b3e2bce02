import { claimOf, type Claims } from './exact-json.js';

/** These claims say whom a token is about. Only the signed ones count. */
const OF_THE_SIGNER: ReadonlySet<string> = new Set(['iss', 'sub']);

/**
 * Returns the claims of an ID token, overwritten member by member by the user info, except issuer and subject (AU-45).
 */
export function mergedClaims(idToken: Claims, userInfo: Claims | undefined): Claims {
  const merged = new Map(Object.entries(idToken));
  for (const name of Object.keys(userInfo ?? {})) {
    const value = claimOf(userInfo ?? {}, name);
    if (value !== undefined && !OF_THE_SIGNER.has(name)) merged.set(name, value);
  }
  return Object.fromEntries(merged);
}
