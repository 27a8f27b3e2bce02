import type { KeyObject } from 'node:crypto';
import { compactVerify, type CryptoKey, decodeProtectedHeader, errors, type ProtectedHeaderParameters } from 'jose';
import { errorText } from '@waybill/model';
import { SIGNING_ALGORITHMS } from '../../acl/decisions/auth-method-config.js';
import { type Claims, readClaims } from '../claims/exact-json.js';

/** The algorithms if `SigningAlgs` is empty (AU-75). */
const DEFAULT_ALGORITHMS = ['RS256'];

/**
 * The largest size in bytes of a login token that is read. Providers' tokens travel in HTTP headers, so they stay below
 * 16 KiB.
 */
export const MAX_TOKEN_BYTES = 256 * 1_024;

/** UnverifiedTokenError says that a token is not valid, or cannot be verified (AU-74). */
export class UnverifiedTokenError extends Error {
  override readonly name = 'UnverifiedTokenError';
}

/** A KeyLookup finds the key for a token's header. Key sets of jose are such functions. */
export type KeyLookup = (header: {
  readonly alg?: string | undefined;
  readonly kid?: string | undefined;
}) => Promise<CryptoKey>;

/** VerificationKeys verify the tokens of a method: one of several keys, or the key that a set has for the token. */
export type VerificationKeys =
  | { readonly kind: 'static'; readonly keys: readonly KeyObject[] }
  | { readonly kind: 'set'; readonly keyOf: KeyLookup };

/**
 * Returns the algorithms that a method allows (AU-75). All of them verify with a public key. With an HMAC algorithm the
 * public key would be the secret.
 */
export function allowedAlgorithms(given: readonly string[] | null): readonly string[] {
  const wanted = given === null || given.length === 0 ? DEFAULT_ALGORITHMS : given;
  return [...SIGNING_ALGORITHMS].filter((algorithm) => wanted.includes(algorithm));
}

/**
 * Returns the claims of a JWT in compact form whose signature one of the keys verifies (AU-73 to AU-75). Of the header
 * only `alg` and `kid` count: keys and addresses of keys in it are ignored, and extensions are refused.
 * @throws UnverifiedTokenError
 */
export async function signedClaims(
  token: string,
  keys: VerificationKeys,
  algorithms: readonly string[],
): Promise<Claims> {
  const { alg } = headerOf(token, algorithms);
  try {
    const payload = keys.kind === 'static' ? await byAnyOf(keys.keys, token, alg) : await bySet(keys.keyOf, token, alg);
    return readClaims(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch (error) {
    throw new UnverifiedTokenError(`error verifying token signature: ${errorText(error)}`);
  }
}

const PARTS = 3;
const BAD_ALGORITHM = 'invalid algorithm (alg) header parameter: ';

function headerOf(token: string, algorithms: readonly string[]): { readonly alg: string } {
  if (Buffer.byteLength(token) > MAX_TOKEN_BYTES)
    throw new UnverifiedTokenError(`error verifying token signature: token longer than ${MAX_TOKEN_BYTES} bytes`);
  if (hasSeveralSignatures(token))
    throw new UnverifiedTokenError(`${BAD_ALGORITHM}token with multiple signatures not supported`);
  const parts = token.split('.');
  if (parts.length !== PARTS)
    throw new UnverifiedTokenError('error verifying token signature: it is no signed JWT in compact form');
  const { alg, crit } = decodedHeader(token);
  if (alg === undefined || alg === '' || alg === 'none' || parts.at(-1) === '')
    throw new UnverifiedTokenError(`${BAD_ALGORITHM}token must be signed`);
  if (crit !== undefined)
    throw new UnverifiedTokenError('error verifying token signature: extensions (crit) are not supported');
  if (!algorithms.includes(alg))
    throw new UnverifiedTokenError(`${BAD_ALGORITHM}token signed with unexpected algorithm`);
  return { alg };
}

/** Says whether the token is a JWS in JSON form, the only form that can have several signatures. */
const hasSeveralSignatures = (token: string): boolean => token.trimStart().startsWith('{');

function decodedHeader(token: string): ProtectedHeaderParameters {
  try {
    return decodeProtectedHeader(token);
  } catch {
    throw new UnverifiedTokenError('error verifying token signature: its header cannot be read');
  }
}

/** @throws Error if no key verifies it */
async function byAnyOf(keys: readonly KeyObject[], token: string, alg: string): Promise<Uint8Array> {
  for (const key of keys.filter((one) => fitsAlgorithm(one, alg))) {
    try {
      const { payload } = await compactVerify(token, key, { algorithms: [alg] });
      return payload;
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    }
  }
  throw new Error('no known key successfully validated the token signature');
}

const CURVES: Readonly<Record<string, string>> = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' };

/** Says whether a key is of the kind that the algorithm needs. */
function fitsAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, alg: string): boolean {
  if (alg.startsWith('ES')) return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === CURVES[alg];
  if (alg === 'EdDSA') return asymmetricKeyType === 'ed25519';
  return asymmetricKeyType === 'rsa';
}

/** Verifies a token by a set of keys. A token without `kid` may fit several of them, and any one may verify it. */
async function bySet(keyOf: KeyLookup, token: string, alg: string): Promise<Uint8Array> {
  const options = { algorithms: [alg] };
  try {
    return (await compactVerify(token, keyOf, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await compactVerify(token, key, options)).payload;
      } catch (inner) {
        if (!(inner instanceof errors.JWSSignatureVerificationFailed)) throw inner;
      }
    }
    throw new Error('no key of the set verifies the token', { cause: error });
  }
}
