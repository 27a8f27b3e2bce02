import { createHash, createSecretKey, type KeyObject } from 'node:crypto';
import { KeyringError } from '@waybill/keyring';
import type { ClientAssertion } from '@waybill/model';
import { type JWTPayload, SignJWT } from 'jose';
import { certificateOf, privateKeyOf } from '../../acl/pem-keys.js';

/** The time in seconds for which a provider accepts an assertion (AU-104). */
export const ASSERTION_LIFE_S = 5 * 60;
/** The time in seconds by which the provider's clock may be behind. */
const BEFORE_S = 1;
const MS_PER_S = 1_000;

/**
 * ClientAssertionError says that an assertion cannot be made, because its key is missing or invalid. The text reveals
 * nothing about a key.
 */
export class ClientAssertionError extends Error {
  override readonly name = 'ClientAssertionError';
}

/** AssertionKeys sign an assertion. They are in clear. */
export interface AssertionKeys {
  /** The client secret. */
  readonly clientSecret: string;
  /** The PEM texts of the private key and of the certificate that names it; empty if there is none. */
  readonly privateKey: string;
  readonly certificate: string;
  /**
   * Signs with the active root key, which providers find in `/.well-known/jwks.json` (AU-104). @throws KeyringError
   */
  readonly signWithCluster: (claims: JWTPayload, headers: Readonly<Record<string, string>>) => Promise<string>;
}

export interface AssertionContext {
  readonly clientId: string;
  readonly nowMs: number;
  readonly newUuid: () => string;
}

/** Returns the JWT that authenticates Waybill at a token endpoint (AU-104). @throws ClientAssertionError */
export async function clientAssertion(
  assertion: ClientAssertion,
  keys: AssertionKeys,
  context: AssertionContext,
): Promise<string> {
  const claims = assertionClaims(assertion, context);
  if (assertion.KeySource === 'nomad') return signedByCluster(assertion, keys, claims);
  const key = signingKey(assertion.KeySource, keys);
  const header = { ...assertion.ExtraHeaders, ...keyName(assertion, keys), typ: 'JWT', alg: assertion.KeyAlgorithm };
  try {
    return await new SignJWT(claims).setProtectedHeader(header).sign(key);
  } catch {
    throw new ClientAssertionError(`the key does not sign with ${assertion.KeyAlgorithm}`);
  }
}

function assertionClaims({ Audience }: ClientAssertion, { clientId, nowMs, newUuid }: AssertionContext): JWTPayload {
  const nowS = Math.floor(nowMs / MS_PER_S);
  return {
    jti: newUuid(),
    iss: clientId,
    sub: clientId,
    aud: Audience.length === 1 ? (Audience[0] ?? '') : Audience,
    iat: nowS,
    nbf: nowS - BEFORE_S,
    exp: nowS + ASSERTION_LIFE_S,
  };
}

async function signedByCluster(
  { ExtraHeaders }: ClientAssertion,
  { signWithCluster }: AssertionKeys,
  claims: JWTPayload,
): Promise<string> {
  try {
    return await signWithCluster(claims, ExtraHeaders ?? {});
  } catch (error) {
    throw new ClientAssertionError(
      error instanceof KeyringError ? error.message : "the cluster's key does not sign with these headers",
    );
  }
}

function signingKey(source: 'client_secret' | 'private_key', { clientSecret, privateKey }: AssertionKeys): KeyObject {
  switch (source) {
    case 'client_secret':
      return createSecretKey(Buffer.from(clientSecret));
    case 'private_key':
      return valueOr(privateKeyOf(privateKey), 'the private key is none in PEM');
  }
}

/** Returns how the header names the key, so that the provider finds the public key. */
function keyName({ PrivateKey }: ClientAssertion, { certificate }: AssertionKeys): Record<string, string> {
  if (PrivateKey === null || PrivateKey.KeyIDHeader === '') return {};
  if (PrivateKey.KeyIDHeader === 'kid') return { kid: PrivateKey.KeyID };
  const { raw } = valueOr(certificateOf(certificate), 'the certificate is none in PEM');
  const digest = createHash(PrivateKey.KeyIDHeader === 'x5t' ? 'sha1' : 'sha256').update(raw);
  return { [PrivateKey.KeyIDHeader]: digest.digest('base64url') };
}

function valueOr<T>(value: T | undefined, otherwise: string): T {
  if (value === undefined) throw new ClientAssertionError(otherwise);
  return value;
}
