import { claimOf, type Claims, type ClaimValue } from '../claims/exact-json.js';

/**
 * Leeways are the leeways of a method in nanoseconds. 0 stands for the default, and a negative value for none (AU-80,
 * AU-81).
 */
export interface Leeways {
  readonly ExpirationLeeway: number;
  readonly NotBeforeLeeway: number;
  readonly ClockSkewLeeway: number;
}

const NS_PER_S = 1_000_000_000;
const MS_PER_S = 1_000;
/** The largest difference of clocks in seconds, unless the method sets another. */
export const DEFAULT_SKEW_S = 60;
/** The distance in seconds from the other claims of time, for a claim that a token lacks. */
export const DEFAULT_LEEWAY_S = 150;

/** ClaimRefusedError says that a claim does not satisfy the method. The text is for the caller (AU-74, AU-77). */
export class ClaimRefusedError extends Error {
  override readonly name = 'ClaimRefusedError';
}

const leewayS = (ns: number, whenZero: number): number => (ns === 0 ? whenZero : Math.max(0, ns / NS_PER_S));

/**
 * Checks the times of issue, start and expiry of a token, with the leeways of its method (AU-80 to AU-82).
 * @returns the Unix milliseconds after which the token is not valid
 * @throws ClaimRefusedError
 */
export function checkTimes(claims: Claims, leeways: Leeways, nowMs: number): number {
  const [iat, nbf, exp] = [secondsOf(claims, 'iat'), secondsOf(claims, 'nbf'), secondsOf(claims, 'exp')];
  if (iat === undefined && nbf === undefined && exp === undefined)
    throw new ClaimRefusedError('no issued at (iat), not before (nbf), or expiration time (exp) claims in token');
  const skew = leewayS(leeways.ClockSkewLeeway, DEFAULT_SKEW_S);
  const expires = exp ?? Math.max(iat ?? 0, nbf ?? 0) + leewayS(leeways.ExpirationLeeway, DEFAULT_LEEWAY_S);
  const notBefore = nbf ?? iat ?? expires - leewayS(leeways.NotBeforeLeeway, DEFAULT_LEEWAY_S);
  const now = nowMs / MS_PER_S;
  if (now + skew < notBefore) throw new ClaimRefusedError('invalid not before (nbf) claim: token not yet valid');
  if (now - skew > expires) throw new ClaimRefusedError('invalid expiration time (exp) claim: token is expired');
  if (iat !== undefined && now + skew < iat)
    throw new ClaimRefusedError('invalid issued at (iat) claim: token issued in the future');
  return (expires + skew) * MS_PER_S;
}

/**
 * Returns a claim of time in Unix seconds. 0 counts as absent, as in the reference. @throws ClaimRefusedError if it is
 * not a number
 */
export function secondsOf(claims: Claims, name: string): number | undefined {
  const value = claimOf(claims, name);
  if (value === undefined || value === null || value === 0) return undefined;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new ClaimRefusedError(`invalid ${name} claim: no number`);
  return value;
}

/** Returns the audiences of a token: one text or several. @throws ClaimRefusedError if it is neither */
export function audiencesOf(claims: Claims): readonly string[] {
  const value = claimOf(claims, 'aud');
  if (value === undefined || value === null) return [];
  const given: readonly ClaimValue[] = Array.isArray(value) ? value : [value];
  return given.map((one) => {
    if (typeof one !== 'string') throw new ClaimRefusedError('invalid audience (aud) claim: no text');
    return one;
  });
}

/** If the method has bound audiences, one of them must be among the token's (AU-76). @throws ClaimRefusedError */
export function checkAudience(claims: Claims, bound: readonly string[] | null): void {
  if (bound === null || bound.length === 0) return;
  if (!audiencesOf(claims).some((audience) => bound.includes(audience)))
    throw new ClaimRefusedError('invalid audience (aud) claim: audience claim does not match any expected audience');
}

/** If the method has bound issuers, the token's must be one of them (AU-77). @throws ClaimRefusedError */
export function checkIssuer(claims: Claims, bound: readonly string[] | null): void {
  if (bound === null || bound.length === 0) return;
  const issuer = claimOf(claims, 'iss');
  if (issuer === undefined || issuer === null || issuer === '')
    throw new ClaimRefusedError(
      'auth method specifies BoundIssuers but the provided token does not contain issuer information',
    );
  if (typeof issuer !== 'string') throw new ClaimRefusedError('unable to read iss property of provided token');
  if (!bound.includes(issuer)) throw new ClaimRefusedError(`invalid JWT issuer: ${issuer}`);
}
