import type { AuthMethod, Clock } from '@waybill/model';
import { errorText } from '@waybill/model';
import { decodeProtectedHeader } from 'jose';
import { type ClientAuth, randomPKCECodeVerifier, randomState } from 'openid-client';
import type { ReadModel } from '@waybill/projection';
import type { Author } from '@waybill/writing';
import { LOGIN_PENDING_MS } from '@waybill/journal';
import { AddressQuota } from '../http/address-quota.js';
import { ApiError, badRequest, serverFailure } from '../http/api-error.js';
import type { Claims } from './claims/exact-json.js';
import { mergedClaims } from './claims/merged-claims.js';
import { checkIssuer } from './jwt/claim-checks.js';
import type { KeySources } from './jwt/key-sources.js';
import { allowedAlgorithms, signedClaims } from './jwt/signature.js';
import { methodOf } from './jwt-logins.js';
import type { AuthUrlRequest, CompleteAuthRequest } from './login-request.js';
import type { ClientCredentials } from './client-credentials.store.js';
import { assertionAuthentication, secretAuthentication } from './oidc/provider.js';
import { checkIdToken, checkUserInfo, subjectOf } from './oidc/id-token.js';
import {
  callbackProblem,
  MAX_PENDING_PER_ADDRESS,
  mustBeSameLogin,
  type PendingLogin,
  type PendingLogins,
} from './oidc/pending-login.js';
import {
  authorizationUrl,
  type ExchangedTokens,
  exchangedTokens,
  type ProviderClient,
  userInfo,
} from './oidc/provider.js';
import { isAllowedRedirect } from './oidc/redirects.js';
import type { OutsideFetch } from './outside-calls.transport.js';
import type { ProviderMetadata } from './provider-metadata.js';
import { type GrantedToken, type LoginTokens, type OnVerified, verifiedSubject } from './login-tokens.js';

export interface OidcLoginsOptions {
  readonly model: Pick<ReadModel, 'access'>;
  readonly keys: KeySources;
  readonly pending: PendingLogins;
  readonly credentials: ClientCredentials;
  readonly tokens: LoginTokens;
  readonly clock: Clock;
  readonly fetchWith: (authorities: readonly string[]) => OutsideFetch;
}

const UNAUTHORIZED_REDIRECT = 'unauthorized redirect_uri';
const TOO_MANY_BEGUN = 'error storing OIDC request: too many auth requests';

/**
 * OidcLogins logs people in at OpenID providers (AU-91 to AU-107), in two calls: `begin` returns the address for their
 * browser, and `complete` receives what the provider sent back with the browser. Between the two the login is pending
 * in a store that all APIs share; this class keeps nothing. If `complete` fails after it took a pending login out, the
 * nonce is spent. Limits: MAX_PENDING_PER_ADDRESS; those of the store.
 */
export class OidcLogins {
  private readonly begun: AddressQuota;

  constructor(private readonly options: OidcLoginsOptions) {
    const { clock } = options;
    this.begun = new AddressQuota({ most: MAX_PENDING_PER_ADDRESS, windowMs: LOGIN_PENDING_MS, clock });
  }

  /** Returns the address at the provider (AU-91). @throws Refusal, ApiError 429 */
  async begin(request: AuthUrlRequest, address: string): Promise<string> {
    const method = await methodOf(this.options.model, request.AuthMethodName, 'OIDC');
    const login = await this.pendingLogin(method, request, address);
    const client = await this.providerClient(method);
    if (!isAllowedRedirect(login.redirectUri, method.Config.AllowedRedirectURIs))
      throw serverFailure(`failed to generate auth URL: ${UNAUTHORIZED_REDIRECT}`);
    const { redirectUri, state, verifier } = login;
    try {
      return await authorizationUrl(client, { nonce: request.ClientNonce, redirectUri, state, verifier });
    } catch (error) {
      throw serverFailure(`failed to generate auth URL: ${errorText(error)}`);
    }
  }

  /** Returns the token of a caller who comes back from the provider (AU-96). @throws Refusal */
  async complete(request: CompleteAuthRequest, author: Author, onVerified: OnVerified): Promise<GrantedToken> {
    const { model, pending, tokens } = this.options;
    const method = await methodOf(model, request.AuthMethodName, 'OIDC');
    const log = tokens.log(method);
    const client = await this.providerClient(method);
    checkCallbackIssuer(request.Iss, method, client.metadata);
    const login = await pending.takeLogin(request.ClientNonce);
    if (!login) throw badRequest('no OIDC request found for client nonce');
    const exchanged = await this.exchangeCode(client, method, login, request);
    const idToken = await this.idToken(client, method, exchanged, request);
    onVerified(verifiedSubject(method, idToken));
    log.logClaims('token', idToken);
    const info = await this.fetchUserInfo(client, method, exchanged, idToken);
    if (info) log.logClaims('user info', info);
    return tokens.grant({ method, claims: mergedClaims(idToken, info), log }, author);
  }

  /** Makes or finds the pending login of a nonce (AU-93, AU-95). */
  private async pendingLogin(method: AuthMethod, request: AuthUrlRequest, address: string): Promise<PendingLogin> {
    const { pending, clock } = this.options;
    const asked: PendingLogin = {
      method: method.Name,
      methodHash: method.Hash,
      redirectUri: request.RedirectURI,
      state: `st_${randomState()}`,
      ...(method.Config.OIDCEnablePKCE && { verifier: randomPKCECodeVerifier() }),
      begunMs: clock.nowMs(),
    };
    const isFull = this.begun.waitMs(address) > 0;
    const kept = isFull
      ? await pending.find(request.ClientNonce)
      : await pending.beginLogin(request.ClientNonce, asked);
    if (!kept) throw new ApiError(429, TOO_MANY_BEGUN);
    if (kept.state === asked.state) this.begun.count(address);
    mustBeSameLogin(kept, asked);
    return kept;
  }

  private async providerClient(method: AuthMethod): Promise<ProviderClient> {
    const { keys, fetchWith } = this.options;
    const { Config } = method;
    const authorities = Config.DiscoveryCaPem ?? [];
    try {
      const metadata = await keys.metadataOf(Config.OIDCDiscoveryURL, authorities);
      return {
        config: Config,
        metadata,
        algorithms: allowedAlgorithms(Config.SigningAlgs),
        authentication: () => this.clientAuthentication(method, metadata),
        call: fetchWith(authorities),
      };
    } catch (error) {
      throw serverFailure(`failed to generate OIDC provider: ${errorText(error)}`);
    }
  }

  private async clientAuthentication(method: AuthMethod, metadata: ProviderMetadata): Promise<ClientAuth> {
    const { credentials } = this.options;
    if (method.Config.OIDCClientAssertion) return assertionAuthentication(await credentials.assertion(method));
    return secretAuthentication(metadata, credentials.clientSecret(method));
  }

  /** Exchanges the code for tokens if the callback fits the pending login (AU-98). */
  private async exchangeCode(
    client: ProviderClient,
    method: AuthMethod,
    login: PendingLogin,
    { ClientNonce, Code, Iss, State, RedirectURI }: CompleteAuthRequest,
  ): Promise<ExchangedTokens> {
    const callback = { method: method.Name, methodHash: method.Hash, state: State, redirectUri: RedirectURI };
    const problem = isAllowedRedirect(login.redirectUri, method.Config.AllowedRedirectURIs)
      ? callbackProblem(login, callback, this.options.clock.nowMs())
      : UNAUTHORIZED_REDIRECT;
    if (problem !== undefined) throw exchangeFailed(problem);
    const { redirectUri, state, verifier } = login;
    const request = { nonce: ClientNonce, redirectUri, state, verifier };
    const tokens = await exchangedTokens(client, request, { code: Code, issuer: Iss }).catch((error: unknown) => {
      throw exchangeFailed(errorText(error));
    });
    if (!tokens) throw serverFailure('exchanged token is not valid; potentially expired or empty');
    return tokens;
  }

  /** Returns the claims of an ID token if its signature and everything in AU-101 is valid. */
  private async idToken(
    { metadata, algorithms }: ProviderClient,
    { Config }: AuthMethod,
    { idToken, accessToken }: ExchangedTokens,
    { ClientNonce, Code }: CompleteAuthRequest,
  ): Promise<Claims> {
    const { keys, clock } = this.options;
    try {
      const claims = await signedClaims(idToken, await keys.ofProvider(Config), algorithms);
      checkIdToken(claims, {
        issuer: metadata.issuer,
        clientId: Config.OIDCClientID,
        nonce: ClientNonce,
        boundAudiences: Config.BoundAudiences,
        accessToken,
        code: Code,
        algorithm: decodeProtectedHeader(idToken).alg ?? '',
        nowMs: clock.nowMs(),
      });
      checkIssuer(claims, Config.BoundIssuer);
      return claims;
    } catch (error) {
      throw exchangeFailed(errorText(error));
    }
  }

  /** Fetches the claims of the user info endpoint (AU-102). The result is undefined if the method does not use it. */
  private async fetchUserInfo(
    client: ProviderClient,
    { Config }: AuthMethod,
    { accessToken }: ExchangedTokens,
    idToken: Claims,
  ): Promise<Claims | undefined> {
    if (Config.OIDCDisableUserInfo) return undefined;
    try {
      const info = await userInfo(client, accessToken, subjectOf(idToken));
      checkUserInfo(info, idToken);
      return info;
    } catch (error) {
      throw serverFailure(`failed to retrieve the user info claims: ${errorText(error)}`);
    }
  }
}

const exchangeFailed = (why: string): Error => serverFailure(`failed to exchange token with provider: ${why}`);

/**
 * Checks the issuer in the callback: it must be the provider itself. It may be missing unless the provider announces
 * it. This check does not spend the nonce (AU-97).
 */
function checkCallbackIssuer(issuer: string, { Config }: AuthMethod, metadata: ProviderMetadata): void {
  const isExpected = metadata.authorization_response_iss_parameter_supported === true;
  if (issuer === Config.OIDCDiscoveryURL || (issuer === '' && !isExpected)) return;
  throw serverFailure('invalid or missing issuer parameter in callback');
}
