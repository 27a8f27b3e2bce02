import { formatErrors, wire } from '@waybill/model';
import { badRequest } from '../http/api-error.js';
import { readJsonBody } from '../http/body.js';

/**
 * The largest size of a login request in bytes: a token of MAX_TOKEN_BYTES and the rest. Anybody may send such a
 * request.
 */
export const MAX_LOGIN_BODY_BYTES = 1_024 * 1_024;

export const LOGIN_PATHS: readonly string[] = ['/v1/acl/login', '/v1/acl/oidc/auth-url', '/v1/acl/oidc/complete-auth'];

export interface LoginRequest {
  AuthMethodName: string;
  LoginToken: string;
}

export interface AuthUrlRequest {
  AuthMethodName: string;
  RedirectURI: string;
  ClientNonce: string;
}

export interface CompleteAuthRequest {
  AuthMethodName: string;
  ClientNonce: string;
  State: string;
  Code: string;
  Iss: string;
  RedirectURI: string;
}

const LOGIN: wire.Shape<LoginRequest> = {
  name: 'ACLLoginRequest',
  fields: { AuthMethodName: wire.string(), LoginToken: wire.string() },
};

const AUTH_URL: wire.Shape<AuthUrlRequest> = {
  name: 'ACLOIDCAuthURLRequest',
  fields: { AuthMethodName: wire.string(), RedirectURI: wire.string(), ClientNonce: wire.string() },
};

const COMPLETE_AUTH: wire.Shape<CompleteAuthRequest> = {
  name: 'ACLOIDCCompleteAuthRequest',
  fields: {
    AuthMethodName: wire.string(),
    ClientNonce: wire.string(),
    State: wire.string(),
    Code: wire.string(),
    Iss: wire.string(),
    RedirectURI: wire.string(),
  },
};

/** Decodes a login with a token (AU-71). @throws Refusal invalid, DecodeError */
export function readLogin(body: unknown): LoginRequest {
  const request = wire.decodeShape(LOGIN, readJsonBody(body));
  refuseMissing('login', [
    [request.AuthMethodName, 'auth method name'],
    [request.LoginToken, 'login token'],
  ]);
  return request;
}

/** Decodes a request for the URL at which a login begins (AU-91). @throws Refusal invalid, DecodeError */
export function readAuthUrl(body: unknown): AuthUrlRequest {
  const request = wire.decodeShape(AUTH_URL, readJsonBody(body));
  refuseMissing('OIDC auth-url', [
    [request.AuthMethodName, 'auth method name'],
    [request.ClientNonce, 'client nonce'],
    [request.RedirectURI, 'redirect URI'],
  ]);
  return request;
}

/** Decodes a request that completes a login (AU-96). @throws Refusal invalid, DecodeError */
export function readCompleteAuth(body: unknown): CompleteAuthRequest {
  const request = wire.decodeShape(COMPLETE_AUTH, readJsonBody(body));
  refuseMissing('OIDC complete-auth', [
    [request.AuthMethodName, 'auth method name'],
    [request.ClientNonce, 'client nonce'],
    [request.State, 'state'],
    [request.Code, 'code'],
    [request.RedirectURI, 'redirect URI'],
  ]);
  return request;
}

function refuseMissing(what: string, members: readonly (readonly [value: string, name: string])[]): void {
  const problems = members.filter(([value]) => value === '').map(([, name]) => `missing ${name}`);
  if (problems.length > 0) throw badRequest(`invalid ${what} request: ${formatErrors(problems)}`);
}
