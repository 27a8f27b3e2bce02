import type { AuthMethodConfig } from '@waybill/model';
import { errorText } from '@waybill/model';
import * as openid from 'openid-client';
import { type Claims, readClaims } from '../claims/exact-json.js';
import type { OutsideFetch } from '../outside-calls.transport.js';
import { isPlain, type ProviderMetadata } from '../provider-metadata.js';

/** The largest length of a provider's error text that is passed on. */
const MAX_TEXT = 512;

/**
 * ProviderError says that a call to a provider failed, or its answer is invalid. The text contains no token, secret or
 * code.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
}

/** ProviderClient is Waybill as a client of one provider, for one login. */
export interface ProviderClient {
  readonly config: Pick<AuthMethodConfig, 'OIDCClientID' | 'OIDCScopes' | 'OIDCDiscoveryURL'>;
  readonly metadata: ProviderMetadata;
  /** The algorithms of ID tokens (AU-101). */
  readonly algorithms: readonly string[];
  /** Returns how Waybill authenticates at the token endpoint. It is made for each exchange. */
  readonly authentication: () => Promise<openid.ClientAuth>;
  readonly call: OutsideFetch;
}

/** AuthorizationRequest has the parts of the address at a provider besides the client and its scopes. */
export interface AuthorizationRequest {
  readonly nonce: string;
  readonly state: string;
  readonly redirectUri: string;
  /** The verifier of PKCE; undefined without PKCE. */
  readonly verifier: string | undefined;
}

export interface ExchangedTokens {
  readonly idToken: string;
  readonly accessToken: string;
}

/** Returns the scopes. `openid` comes first, unless it is listed (AU-92). */
export const scopesOf = (scopes: readonly string[] | null): readonly string[] =>
  scopes?.includes('openid') ? scopes : ['openid', ...(scopes ?? [])];

/** Returns the address to which a browser is sent for the login (AU-92). @throws ProviderError */
export async function authorizationUrl(client: ProviderClient, request: AuthorizationRequest): Promise<string> {
  try {
    const challenge = request.verifier && (await openid.calculatePKCECodeChallenge(request.verifier));
    const url = openid.buildAuthorizationUrl(configurationOf(client), {
      response_type: 'code',
      scope: scopesOf(client.config.OIDCScopes).join(' '),
      redirect_uri: request.redirectUri,
      nonce: request.nonce,
      state: request.state,
      ...(challenge && { code_challenge: challenge, code_challenge_method: 'S256' }),
    });
    return url.href;
  } catch (error) {
    throw new ProviderError(providerText(error));
  }
}

/**
 * Exchanges the code that came back for tokens. This does not verify the ID token.
 * @throws ProviderError
 */
export async function exchangedTokens(
  client: ProviderClient,
  request: AuthorizationRequest,
  { code, issuer }: { readonly code: string; readonly issuer: string },
): Promise<ExchangedTokens | undefined> {
  const callback = new URL(request.redirectUri);
  callback.search = new URLSearchParams({
    code,
    state: request.state,
    ...(issuer !== '' && { iss: issuer }),
  }).toString();
  try {
    const configuration = configurationOf(client, sending(await client.authentication(), request.redirectUri));
    const tokens = await openid.authorizationCodeGrant(configuration, callback, {
      expectedState: request.state,
      expectedNonce: request.nonce,
      ...(request.verifier !== undefined && { pkceCodeVerifier: request.verifier }),
    });
    return tokens.id_token === undefined ? undefined : { idToken: tokens.id_token, accessToken: tokens.access_token };
  } catch (error) {
    throw new ProviderError(providerText(error));
  }
}

/** Returns the provider's information about the subject, with exact integers (AU-102). @throws ProviderError */
export async function userInfo(client: ProviderClient, accessToken: string, subject: string): Promise<Claims> {
  const read: { text?: string } = {};
  const call: OutsideFetch = async (url, request) => {
    const answer = await client.call(url, request);
    if (answer.headers.get('content-type')?.startsWith('application/jwt'))
      throw new ProviderError('signed user info is not supported');
    read.text = await answer.clone().text();
    return answer;
  };
  try {
    await openid.fetchUserInfo(configurationOf({ ...client, call }), accessToken, subject);
    return readClaims(read.text ?? '');
  } catch (error) {
    throw new ProviderError(providerText(error));
  }
}

/**
 * Returns the authentication with a secret: in the form that the provider requests, or in a header if it requests none.
 */
export function secretAuthentication(metadata: ProviderMetadata, secret: string): openid.ClientAuth {
  if (secret === '') return openid.None();
  const known = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return known.includes('client_secret_basic') || !known.includes('client_secret_post')
    ? openid.ClientSecretBasic(secret)
    : openid.ClientSecretPost(secret);
}

/** Returns the authentication with an assertion and no secret (AU-100). */
export const assertionAuthentication =
  (assertion: string): openid.ClientAuth =>
  (_server, client, body) => {
    body.set('client_id', client.client_id);
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    body.set('client_assertion', assertion);
  };

/** The redirect address must be exactly the same at the token endpoint as at the authorization endpoint. */
const sending =
  (authentication: openid.ClientAuth, redirectUri: string): openid.ClientAuth =>
  (server, client, body, headers) => {
    authentication(server, client, body, headers);
    body.set('redirect_uri', redirectUri);
  };

function configurationOf(client: ProviderClient, authentication = openid.None()): openid.Configuration {
  const { metadata, config, algorithms, call } = client;
  const server = { ...metadata, id_token_signing_alg_values_supported: [...algorithms] } as openid.ServerMetadata;
  const configuration = new openid.Configuration(server, config.OIDCClientID, undefined, authentication);
  configuration[openid.customFetch] = call;
  if (isPlain(config.OIDCDiscoveryURL)) openid.allowInsecureRequests(configuration);
  return configuration;
}

/** Returns the text of a failure: the provider's own, or else the error that the library found. */
function providerText(error: unknown): string {
  const text =
    error instanceof openid.ResponseBodyError
      ? [error.error, error.error_description].filter((part) => part !== undefined).join(': ')
      : reasonsOf(error).join(': ');
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f]/g, ' ').slice(0, MAX_TEXT);
}

/** Returns the messages of an error and of its causes. Their other members may contain a secret. */
function reasonsOf(error: unknown): string[] {
  // A SyntaxError quotes the text that it could not parse.
  if (!(error instanceof Error) || error instanceof SyntaxError) return [];
  const below = reasonsOf(error.cause);
  const says = error.message === 'something went wrong' && below.length > 0 ? [] : [errorText(error)];
  return [...says, ...below];
}
