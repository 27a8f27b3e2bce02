import type { KeyObject } from 'node:crypto';
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { RootKeyMaterial } from './root-key-material.js';

/** Claims of a token of Waybill's own (section 1.6 of auth.md): who reads them checks each. */
export type Claims = JWTPayload;

/** The only algorithm: also for a token whose header names another one (AU-174). */
const ALGORITHM = 'RS256';
/** How far two clocks may be apart (AU-171), s. */
const LEEWAY_S = 60;
/** Longer than every token that is made here. */
const MAX_TOKEN_BYTES = 16 * 1_024;

/** Why a token does not count, for logs: callers are told nothing but that it does not (AU-174). */
export class TokenRefusedError extends Error {
  override readonly name = 'TokenRefusedError';
}

/** The token of these claims. The same key and claims give the same bytes (AU-137). */
export function signClaims({ keyId, privateKey }: RootKeyMaterial, claims: Claims): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: ALGORITHM, kid: keyId, typ: 'JWT' }).sign(privateKey);
}

/** The key that a token says it was signed with; nothing of the token is checked yet. @throws TokenRefusedError */
export function keyIdOf(token: string): string {
  if (token.length > MAX_TOKEN_BYTES) throw new TokenRefusedError('the token is too long');
  const { alg, kid } = readable(() => decodeProtectedHeader(token));
  if (alg !== ALGORITHM) throw new TokenRefusedError(`the token's algorithm is not ${ALGORITHM}`);
  if (typeof kid !== 'string' || kid === '') throw new TokenRefusedError('the token names no key');
  return kid;
}

/** Its claims, if the key signed it and it counts at this time (AU-171). @throws TokenRefusedError */
export async function verifiedClaims(publicKey: KeyObject, token: string, nowMs: number): Promise<Claims> {
  const options = { algorithms: [ALGORITHM], clockTolerance: LEEWAY_S, currentDate: new Date(nowMs) };
  try {
    const { payload } = await jwtVerify(token, publicKey, options);
    if (payload.iat !== undefined && payload.iat > nowMs / 1_000 + LEEWAY_S)
      throw new TokenRefusedError('the token was made in the future');
    return payload;
  } catch (error) {
    throw asRefused(error);
  }
}

function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asRefused(error);
  }
}

/** What jose says of a token, and what it throws at one that is none. */
function asRefused(error: unknown): unknown {
  const isOfToken = error instanceof errors.JOSEError || error instanceof TypeError;
  return isOfToken ? new TokenRefusedError(error.message, { cause: error }) : error;
}
