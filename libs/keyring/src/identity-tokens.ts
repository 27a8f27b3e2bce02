import type { KeyObject } from 'node:crypto';
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { RootKeyMaterial } from './root-key-material.js';

/** Claims are the claims of one of Waybill's own tokens (section 1.6 of auth.md). Readers check each of them. */
export type Claims = JWTPayload;

/** The only algorithm that is accepted. The header of a token cannot choose another one (AU-174). */
const ALGORITHM = 'RS256';
/** The largest accepted difference between two clocks in seconds (AU-171). */
const LEEWAY_S = 60;
/** The limit is larger than every token that this module makes. */
const MAX_TOKEN_BYTES = 16 * 1_024;

/** TokenRefusedError says for logs why a token is not valid. Callers learn only that it is not valid (AU-174). */
export class TokenRefusedError extends Error {
  override readonly name = 'TokenRefusedError';
}

/** Members of a token's header besides its own, which they cannot replace. */
export type ExtraHeaders = Readonly<Record<string, string>>;

/** Signs the claims. The same key, claims and headers give the same bytes (AU-137). */
export function signClaims(
  { keyId, privateKey }: RootKeyMaterial,
  claims: Claims,
  headers: ExtraHeaders = {},
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ ...headers, alg: ALGORITHM, kid: keyId, typ: 'JWT' })
    .sign(privateKey);
}

/**
 * Returns the ID of the key that a token names in its header. Nothing of the token is verified at this point. @throws
 * TokenRefusedError
 */
export function keyIdOf(token: string): string {
  if (token.length > MAX_TOKEN_BYTES) throw new TokenRefusedError('the token is too long');
  const { alg, kid } = readable(() => decodeProtectedHeader(token));
  if (alg !== ALGORITHM) throw new TokenRefusedError(`the token's algorithm is not ${ALGORITHM}`);
  if (typeof kid !== 'string' || kid === '') throw new TokenRefusedError('the token names no key');
  return kid;
}

/**
 * Returns the claims of a token if the key signed it and it is valid at this time (AU-171). @throws TokenRefusedError
 */
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

/** Converts errors of jose about a token, and errors for a text that is no token, to a TokenRefusedError. */
function asRefused(error: unknown): unknown {
  const isOfToken = error instanceof errors.JOSEError || error instanceof TypeError;
  return isOfToken ? new TokenRefusedError(error.message, { cause: error }) : error;
}
