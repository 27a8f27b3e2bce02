import { createHash } from 'node:crypto';
import { claimOf, type Claims } from '../claims/exact-json.js';
import { audiencesOf, checkAudience, ClaimRefusedError, secondsOf } from '../jwt/claim-checks.js';

/** The time in seconds by which a provider's clock may be ahead (AU-101). */
const AHEAD_S = 60;
/** The time in seconds by which it may be behind before its tokens count as expired. */
const BEHIND_S = 30;
const MS_PER_S = 1_000;

/** ExpectedIdToken has the values that an ID token must match. */
export interface ExpectedIdToken {
  readonly issuer: string;
  readonly clientId: string;
  readonly nonce: string;
  readonly boundAudiences: readonly string[] | null;
  readonly accessToken: string;
  readonly code: string;
  /** The algorithm of the token's signature, from its header. */
  readonly algorithm: string;
  readonly nowMs: number;
}

/** Checks the claims of an ID token whose signature was verified (AU-101). @throws ClaimRefusedError */
export function checkIdToken(claims: Claims, expected: ExpectedIdToken): void {
  const { issuer, nonce, boundAudiences, nowMs } = expected;
  if (claimOf(claims, 'iss') !== issuer) throw new ClaimRefusedError('invalid issuer (iss) claim');
  subjectOf(claims);
  if (claimOf(claims, 'nonce') !== nonce) throw new ClaimRefusedError('invalid nonce claim');
  checkIdTokenTimes(claims, nowMs / MS_PER_S);
  checkParties(claims, expected);
  checkAudience(claims, boundAudiences);
  checkHash(claims, 'at_hash', expected.accessToken, expected.algorithm);
  checkHash(claims, 'c_hash', expected.code, expected.algorithm);
}

/** Returns the subject of a token. @throws ClaimRefusedError */
export function subjectOf(claims: Claims): string {
  const subject = claimOf(claims, 'sub');
  if (typeof subject !== 'string' || subject === '') throw new ClaimRefusedError('invalid subject (sub) claim');
  return subject;
}

function checkIdTokenTimes(claims: Claims, nowS: number): void {
  const expires = secondsOf(claims, 'exp');
  const issued = secondsOf(claims, 'iat');
  if (expires === undefined || nowS - BEHIND_S >= expires)
    throw new ClaimRefusedError('invalid expiration time (exp) claim: token is expired');
  if (nowS + AHEAD_S < (secondsOf(claims, 'nbf') ?? 0))
    throw new ClaimRefusedError('invalid not before (nbf) claim: token not yet valid');
  if (issued === undefined || nowS + AHEAD_S < issued)
    throw new ClaimRefusedError('invalid issued at (iat) claim: token issued in the future');
}

/** Checks for whom the token is, and who requested it. */
function checkParties(claims: Claims, { clientId }: ExpectedIdToken): void {
  const audiences = audiencesOf(claims);
  if (audiences.length === 0) throw new ClaimRefusedError('invalid audience (aud) claim: there is none');
  const party = claimOf(claims, 'azp');
  if (party !== undefined && party !== clientId) throw new ClaimRefusedError('invalid authorized party (azp) claim');
  const isForClient = audiences.includes(clientId);
  const needsParty = audiences.length > 1 || !isForClient;
  if (audiences.length > 1 && !isForClient)
    throw new ClaimRefusedError('invalid audience (aud) claim: the client is not among several');
  if (needsParty && party !== clientId) throw new ClaimRefusedError('missing authorized party (azp) claim');
}

const HASHES: Readonly<Record<string, string>> = { 256: 'sha256', 384: 'sha384', 512: 'sha512' };

/** Checks a hash that binds a token to a value sent with it: the left half of the digest of the signature's size. */
function checkHash(claims: Claims, name: 'at_hash' | 'c_hash', of: string, algorithm: string): void {
  const claimed = claimOf(claims, name);
  if (claimed === undefined) return;
  const digest = createHash(HASHES[algorithm.slice(-3)] ?? 'sha512')
    .update(of)
    .digest();
  if (claimed !== digest.subarray(0, digest.length / 2).toString('base64url'))
    throw new ClaimRefusedError(`invalid ${name} claim`);
}

/**
 * Checks that the user info is about the subject of the ID token and from its issuer (AU-102). @throws
 * ClaimRefusedError
 */
export function checkUserInfo(userInfo: Claims, idToken: Claims): void {
  if (claimOf(userInfo, 'sub') !== subjectOf(idToken)) throw new ClaimRefusedError('invalid subject (sub) claim');
  const issuer = claimOf(userInfo, 'iss');
  if (issuer !== undefined && issuer !== claimOf(idToken, 'iss'))
    throw new ClaimRefusedError('invalid issuer (iss) claim');
}
