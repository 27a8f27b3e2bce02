import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { KeyringError } from '@waybill/keyring';
import type { ClientAssertion } from '@waybill/model';
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import type { Claims } from '../claims/exact-json.js';
import { providerMetadata } from '../provider-metadata.js';
import { type AssertionKeys, clientAssertion, ClientAssertionError } from './client-assertion.js';
import { checkIdToken, checkUserInfo, type ExpectedIdToken } from './id-token.js';
import { callbackProblem, mustBeSameLogin, type PendingLogin } from './pending-login.js';
import {
  assertionAuthentication,
  authorizationUrl,
  exchangedTokens,
  type ProviderClient,
  scopesOf,
  secretAuthentication,
  userInfo,
} from './provider.js';
import { isAllowedRedirect } from './redirects.js';
import { ISSUER, json, METADATA, REDIRECT, ScriptedProvider } from './scripted-provider.fixture.js';

const REQUEST = { nonce: 'nonce', state: 'st_1', redirectUri: REDIRECT, verifier: undefined };
const NOW_S = Math.floor(Date.now() / 1_000);
/** Any certificate: only its bytes count here. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIDBzCCAe+gAwIBAgIUSOUNJooQK67ZDly5dAoy+ksPHY0wDQYJKoZIhvcNAQEL
BQAwEjEQMA4GA1UEAwwHd2F5YmlsbDAgFw0yNjExMjcwODI0MDhaGA8yMTI2MTEw
MzA4MjQwOFowEjEQMA4GA1UEAwwHd2F5YmlsbDCCASIwDQYJKoZIhvcNAQEBBQAD
ggEPADCCAQoCggEBAMwN6CxtYPwpSQ/fxMzogWoVRDIEijNnzSlqYYYoqSAW74jt
Q42d0+AO9davOEnS8TYMlCMjugT6vmuXCj/6ZsmnalTZPd9JR63nvrmioqKvGT4t
uFaKZe7be12dFg21pz92dtwPErmB05TkP6bMfWCuLLkyzacTPi7XELREQ4GjC0jy
AgQzUy00Mp02WnbS073mLhJlKT2NqTV6bs7IrVT+mZdMdX13Y+hJ536HPCI2bWQz
kNR/vA1731WvWPYzG3VIOF5M5Zn8efZRWNptiBi4JkoumF0Knaprt5/Xlz+VL9TE
cmYzQxIF1iaSl65uX9oDHuOJRLpHkTNvU3jV6v8CAwEAAaNTMFEwHQYDVR0OBBYE
FJcnFRNlAIghuk8wm44DiFnuhFcbMB8GA1UdIwQYMBaAFJcnFRNlAIghuk8wm44D
iFnuhFcbMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADggEBAHOA5oPz
iipPWmhS+lEHbCdOTmNvL55QGxbldQu6emXbIqUZDg2qUIUbwrXKbQd5w7aYEdBV
C1CvGRQVJ+Vuv82FtmJtS/1tWUckqRmNPJT2KVSZxTnAeVDw3wP404TBHimDgop0
qq6UQZmfe6i+6kF9aT2D3NBpCm6nQtjl67mu/vMlSx7nyxSFKvqqXYJG4o44YwQH
JuTunstW0HehUeoBShO8TXhopjrUx/mg0S4XSnqO/b+0t7x0Jrkm1fpqAkXJWfaG
WeOfuBWHtyx7BJcq318wxN4r0EDzeuabjc5NcU8fNoL/Qc8/xNoyy6gWjJs6xaqM
tg8OP4n2SLenLwo=
-----END CERTIFICATE-----`;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

const anIdToken = (over: Claims = {}): Claims => ({
  iss: ISSUER,
  sub: 'alice',
  aud: 'waybill',
  nonce: 'nonce',
  iat: NOW_S,
  exp: NOW_S + 60,
  ...over,
});
const tokenOf = (claims: Claims): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256' }).sign(rsa.privateKey);

describe('where somebody is sent to log in', () => {
  const nobody = new ScriptedProvider({});

  it('AU-92: client, nonce, state, way back and scopes, and never the secret', async () => {
    const url = new URL(await authorizationUrl(nobody.client(), REQUEST));
    expect(url.origin + url.pathname).toBe(`${ISSUER}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'waybill',
      nonce: 'nonce',
      redirect_uri: REDIRECT,
      response_type: 'code',
      scope: 'openid',
      state: 'st_1',
    });
  });

  it('AU-92: openid is added unless it is listed', () => {
    expect(scopesOf(null)).toEqual(['openid']);
    expect(scopesOf(['groups'])).toEqual(['openid', 'groups']);
    expect(scopesOf(['groups', 'openid'])).toEqual(['groups', 'openid']);
  });

  it('AU-103: with PKCE a challenge by SHA-256, and not the verifier', async () => {
    const verifier = 'v'.repeat(43);
    const { searchParams } = new URL(await authorizationUrl(nobody.client(), { ...REQUEST, verifier }));
    expect(searchParams.get('code_challenge')).toBe(createHash('sha256').update(verifier).digest('base64url'));
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    expect(searchParams.toString()).not.toContain(verifier);
  });

  it('a provider without an authorization endpoint is an error', async () => {
    const { authorization_endpoint: _, ...metadata } = METADATA;
    await expect(authorizationUrl(nobody.client({ metadata }), REQUEST)).rejects.toThrow('authorization_endpoint');
  });
});

describe('the exchange of a code', () => {
  const provider = async (claims: Claims = anIdToken(), over: object = {}) => {
    const id_token = await tokenOf(claims);
    return new ScriptedProvider({
      '/token': () => json({ access_token: 'at', token_type: 'Bearer', id_token, ...over }),
    });
  };
  const exchange = async (scripted: ScriptedProvider, over: Partial<ProviderClient> = {}, request = {}) =>
    exchangedTokens(scripted.client(over), { ...REQUEST, ...request }, { code: 'c/1', issuer: '' });

  it('AU-100: client ID and secret in a header, as the standard has it', async () => {
    const scripted = await provider();
    expect(await exchange(scripted, {}, { verifier: 'v'.repeat(43) })).toMatchObject({ accessToken: 'at' });
    const [call] = scripted.calls;
    expect(call?.headers.get('authorization')).toBe(`Basic ${Buffer.from('waybill:p%40ss+word').toString('base64')}`);
    expect(Object.fromEntries(call?.form ?? [])).toEqual({
      grant_type: 'authorization_code',
      code: 'c/1',
      redirect_uri: REDIRECT,
      code_verifier: 'v'.repeat(43),
    });
    expect(call?.url).toBe(`${ISSUER}/token`);
  });

  it('AU-100: in the form where the provider takes no header; without a secret the ID alone', async () => {
    const metadata = { ...METADATA, token_endpoint_auth_methods_supported: ['client_secret_post'] };
    const scripted = await provider();
    await exchange(scripted, { authentication: async () => secretAuthentication(metadata, 's') });
    await exchange(scripted, { authentication: async () => secretAuthentication(METADATA, '') });
    const [posted, open] = scripted.calls;
    expect([posted?.headers.get('authorization'), posted?.form.get('client_secret')]).toEqual([null, 's']);
    expect([open?.headers.get('authorization'), open?.form.get('client_secret')]).toEqual([null, null]);
    expect(open?.form.get('client_id')).toBe('waybill');
  });

  it('AU-100: an assertion instead of a secret', async () => {
    const scripted = await provider();
    await exchange(scripted, { authentication: async () => assertionAuthentication('signed') });
    const [call] = scripted.calls;
    expect(call?.headers.get('authorization')).toBeNull();
    expect(call?.form.get('client_secret')).toBeNull();
    expect(call?.form.get('client_assertion')).toBe('signed');
    expect(call?.form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  });

  it('AU-98: the way back is sent letter by letter', async () => {
    const scripted = await provider();
    const redirectUri = 'https://ui.example?page=login';
    await exchange(scripted, {}, { redirectUri });
    expect(scripted.calls[0]?.form.get('redirect_uri')).toBe(redirectUri);
  });

  it('AU-96: what the provider says is passed on; what it sent is not', async () => {
    const failing = async (answer: () => Response): Promise<string> => {
      const scripted = new ScriptedProvider({ '/token': answer });
      try {
        await exchange(scripted);
        return 'exchanged';
      } catch (error) {
        return error instanceof Error ? error.message : '';
      }
    };
    expect(
      await failing(() => json({ error: 'invalid_grant', error_description: 'code is\nused' }, { status: 400 })),
    ).toBe('invalid_grant: code is used');
    const secret = 'at-secret';
    for (const answer of [
      json({ access_token: secret }, { status: 500 }),
      json({ access_token: secret, token_type: 'x' }),
      json({ access_token: secret, token_type: 'Bearer', id_token: secret }),
      json(`no json ${secret}`),
      new Response(null, { status: 302, headers: { location: `https://elsewhere.example/${secret}` } }),
      json({ access_token: secret, token_type: 'Bearer', id_token: await tokenOf(anIdToken({ nonce: secret })) }),
    ]) {
      const text = await failing(() => answer);
      expect(text).not.toBe('exchanged');
      expect(text).not.toBe('');
      expect(text).not.toContain(secret);
    }
  });

  it('AU-101: an ID token for another nonce, issuer or algorithm is refused', async () => {
    for (const claims of [
      anIdToken({ nonce: 'x' }),
      anIdToken({ iss: 'https://other.example' }),
      anIdToken({ exp: NOW_S - 60 }),
    ])
      await expect(exchange(await provider(claims))).rejects.toThrow();
    await expect(exchange(await provider(), { algorithms: ['ES256'] })).rejects.toThrow();
  });
});

describe('user info', () => {
  const ask = (answer: () => Response) => userInfo(new ScriptedProvider({ '/me': answer }).client(), 'at', 'alice');

  it('AU-42, AU-102: is fetched with the access token, its large integers as they are written', async () => {
    const scripted = new ScriptedProvider({ '/me': () => json('{"sub":"alice","id":9007199254740993}') });
    expect(await userInfo(scripted.client(), 'at', 'alice')).toEqual({ sub: 'alice', id: 9007199254740993n });
    expect(scripted.calls[0]?.headers.get('authorization')).toBe('Bearer at');
  });

  it('AU-102, AU-315: that of another subject, signed, or none fails', async () => {
    await expect(ask(() => json({ sub: 'mallory' }))).rejects.toThrow('sub');
    await expect(ask(() => json({}))).rejects.toThrow();
    await expect(ask(() => json('[]'))).rejects.toThrow();
    await expect(ask(() => json({ sub: 'alice' }, { status: 503 }))).rejects.toThrow();
    await expect(
      ask(() => new Response('a.b.c', { headers: { 'content-type': 'application/jwt; charset=utf-8' } })),
    ).rejects.toThrow('signed user info is not supported');
  });

  it('AU-315: the issuer of user info, if any, is that of the ID token', () => {
    expect(() => checkUserInfo({ sub: 'a' }, { sub: 'a', iss: 'i' })).not.toThrow();
    expect(() => checkUserInfo({ sub: 'a', iss: 'i' }, { sub: 'a', iss: 'i' })).not.toThrow();
    expect(() => checkUserInfo({ sub: 'a', iss: 'x' }, { sub: 'a', iss: 'i' })).toThrow('iss');
    expect(() => checkUserInfo({ sub: 'b' }, { sub: 'a', iss: 'i' })).toThrow('sub');
  });
});

describe('AU-101: an ID token', () => {
  const expected: ExpectedIdToken = {
    issuer: ISSUER,
    clientId: 'waybill',
    nonce: 'nonce',
    boundAudiences: null,
    accessToken: 'at',
    code: 'c',
    algorithm: 'RS256',
    nowMs: NOW_S * 1_000,
  };
  const half = (text: string, hash = 'sha256'): string => {
    const digest = createHash(hash).update(text).digest();
    return digest.subarray(0, digest.length / 2).toString('base64url');
  };
  const check = (over: Record<string, Claims[string] | undefined>, want: Partial<ExpectedIdToken> = {}) => {
    const claims = Object.fromEntries(
      Object.entries({ ...anIdToken(), ...over }).filter(([, value]) => value !== undefined),
    );
    return () => checkIdToken(claims as Claims, { ...expected, ...want });
  };

  it('passes with all of it, and with several audiences where the client is the party', () => {
    expect(check({})).not.toThrow();
    expect(check({ azp: 'waybill' })).not.toThrow();
    expect(check({ aud: ['waybill', 'x'], azp: 'waybill' })).not.toThrow();
    expect(check({ aud: ['x'], azp: 'waybill' })).not.toThrow();
    expect(check({ at_hash: half('at'), c_hash: half('c') })).not.toThrow();
    expect(check({ at_hash: half('at', 'sha512') }, { algorithm: 'EdDSA' })).not.toThrow();
    expect(check({ at_hash: half('at', 'sha384') }, { algorithm: 'ES384' })).not.toThrow();
    expect(check({ iat: NOW_S + 59 })).not.toThrow();
    expect(check({}, { boundAudiences: ['x', 'waybill'] })).not.toThrow();
  });

  it.each([
    ['another issuer', { iss: 'https://other.example' }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['another nonce', { nonce: 'x' }],
    ['no nonce', { nonce: undefined }],
    ['no expiry', { exp: undefined }],
    ['expired', { exp: NOW_S - 31 }],
    ['not yet valid', { nbf: NOW_S + 61 }],
    ['no time of issue', { iat: undefined }],
    ['issued in the future', { iat: NOW_S + 61 }],
    ['no audience', { aud: undefined }],
    ['empty audience', { aud: [] }],
    ['another audience without party', { aud: 'x' }],
    ['several audiences without party', { aud: ['waybill', 'x'] }],
    ['several audiences without the client', { aud: ['x', 'y'], azp: 'waybill' }],
    ['another party', { azp: 'x' }],
    ['another access token', { at_hash: half('other') }],
    ['another code', { c_hash: half('other') }],
    ['half a hash of another kind', { at_hash: half('at', 'sha512') }],
  ])('with %s is refused', (_name, over) => {
    expect(check(over)).toThrow();
  });

  it('with bound audiences is for one of them', () => {
    expect(check({}, { boundAudiences: ['x'] })).toThrow('audience claim does not match any expected audience');
  });
});

describe('the way back', () => {
  it('AU-99: exact, but for the port of a host that is the caller itself', () => {
    const local = ['http://localhost:4649/oidc/callback'];
    expect(isAllowedRedirect('http://localhost:4649/oidc/callback', local)).toBe(true);
    expect(isAllowedRedirect('http://localhost:5000/oidc/callback', local)).toBe(true);
    expect(isAllowedRedirect('http://[::1]:1/cb', ['http://[::1]/cb'])).toBe(true);
    for (const other of [
      'http://127.0.0.1:4649/oidc/callback',
      'https://localhost:4649/oidc/callback',
      'http://localhost:4649/oidc/callback/',
      'http://localhost:4649/oidc/callback?x=1',
      'http://user@localhost:4649/oidc/callback',
      'http://localhost.evil.example:4649/oidc/callback',
      'localhost',
      '',
    ])
      expect(isAllowedRedirect(other, local), other).toBe(false);
    const ui = ['https://ui.example/ui/settings/tokens'];
    expect(isAllowedRedirect('https://ui.example/ui/settings/tokens', ui)).toBe(true);
    expect(isAllowedRedirect('https://ui.example:8443/ui/settings/tokens', ui)).toBe(false);
    for (const any of [null, []]) expect(isAllowedRedirect('https://anywhere.example', any)).toBe(true);
  });
});

describe('a pending login', () => {
  const pending: PendingLogin = {
    method: 'okta',
    methodHash: 'h',
    redirectUri: REDIRECT,
    state: 'st_1',
    begunMs: 1_000,
  };
  const callback = { method: 'okta', methodHash: 'h', redirectUri: REDIRECT, state: 'st_1' };

  it('AU-93, AU-314: a nonce is for one method and one way back', () => {
    expect(() => mustBeSameLogin(pending, { ...pending, state: 'st_2' })).not.toThrow();
    for (const other of [{ method: 'x' }, { redirectUri: 'https://evil.example' }])
      expect(() => mustBeSameLogin(pending, { ...pending, ...other })).toThrow('nonce reuse detected');
  });

  it('AU-98: state, method and way back are those it was begun with, and it is at most 60 s old', () => {
    expect(callbackProblem(pending, callback, 61_000)).toBeUndefined();
    expect(callbackProblem(pending, callback, 61_001)).toBe('authentication request is expired');
    expect(callbackProblem(pending, { ...callback, state: 'st_2' }, 2_000)).toBe(
      'authentication request state and authorization state are not equal',
    );
    expect(callbackProblem(pending, { ...callback, redirectUri: 'x' }, 2_000)).toContain('unauthorized redirect_uri');
    expect(callbackProblem(pending, { ...callback, method: 'x' }, 2_000)).toContain('another auth method');
  });

  it('AU-320: the method is as it was, as far as the build that began the login has noted it', () => {
    expect(callbackProblem(pending, { ...callback, methodHash: 'new' }, 2_000)).toContain('has changed since');
    const earlier = { ...pending, methodHash: undefined };
    expect(callbackProblem(earlier, { ...callback, methodHash: 'new' }, 2_000)).toBeUndefined();
  });
});

describe('client assertions', () => {
  const NONE: AssertionKeys = {
    clientSecret: '',
    privateKey: '',
    certificate: '',
    signWithCluster: () => Promise.reject(new KeyringError('keyring is not ready')),
  };
  const given = (over: Partial<ClientAssertion>): ClientAssertion => ({
    KeySource: 'client_secret',
    Audience: [ISSUER],
    KeyAlgorithm: 'HS256',
    PrivateKey: null,
    ExtraHeaders: null,
    ...over,
  });
  const context = { clientId: 'waybill', nowMs: NOW_S * 1_000, newUuid: () => 'uuid' };
  const named = (over: Partial<NonNullable<ClientAssertion['PrivateKey']>>): ClientAssertion['PrivateKey'] => ({
    SealedPemKey: '',
    PemKeyFile: '',
    PemCert: '',
    PemCertFile: '',
    KeyID: '',
    KeyIDHeader: '',
    ...over,
  });
  const pem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

  it.each(['HS256', 'HS384', 'HS512'])('AU-104: by the client secret with %s', async (KeyAlgorithm) => {
    const clientSecret = 's'.repeat(64);
    const ExtraHeaders = { x: 'y', alg: 'none', typ: 'z' };
    const token = await clientAssertion(given({ KeyAlgorithm, ExtraHeaders }), { ...NONE, clientSecret }, context);
    const { payload, protectedHeader } = await jwtVerify(token, Buffer.from(clientSecret));
    expect(protectedHeader).toEqual({ alg: KeyAlgorithm, typ: 'JWT', x: 'y' });
    expect(payload).toEqual({
      iss: 'waybill',
      sub: 'waybill',
      aud: ISSUER,
      iat: NOW_S,
      nbf: NOW_S - 1,
      exp: NOW_S + 300,
      jti: 'uuid',
    });
  });

  it('AU-104, AU-105: by a private key in one line, named by its ID', async () => {
    const assertion = given({
      KeySource: 'private_key',
      KeyAlgorithm: 'RS512',
      Audience: ['a', 'b'],
      PrivateKey: named({ KeyID: 'k1', KeyIDHeader: 'kid' }),
    });
    const token = await clientAssertion(assertion, { ...NONE, privateKey: pem.replaceAll('\n', ' ') }, context);
    const { payload, protectedHeader } = await jwtVerify(token, rsa.publicKey);
    expect([protectedHeader.kid, protectedHeader.alg, payload.aud]).toEqual(['k1', 'RS512', ['a', 'b']]);
  });

  it.each([
    ['x5t', 'sha1'],
    ['x5t#S256', 'sha256'],
  ] as const)('AU-104: by a private key, named by its certificate in %s', async (KeyIDHeader, hash) => {
    const certificate = CERTIFICATE;
    const assertion = given({
      KeySource: 'private_key',
      KeyAlgorithm: 'RS256',
      PrivateKey: named({ PemCert: certificate, KeyIDHeader }),
    });
    const header = decodeProtectedHeader(
      await clientAssertion(assertion, { ...NONE, privateKey: pem, certificate }, context),
    );
    const { raw } = new X509Certificate(certificate);
    expect(header[KeyIDHeader as 'x5t']).toBe(createHash(hash).update(raw).digest('base64url'));
  });

  it('a key that is none, or does not sign so, is an error that tells nothing of it', async () => {
    const byKey = given({ KeySource: 'private_key', KeyAlgorithm: 'RS256' });
    await expect(clientAssertion(byKey, { ...NONE, privateKey: 'secret' }, context)).rejects.toThrow(
      'the private key is none in PEM',
    );
    await expect(
      clientAssertion({ ...byKey, KeyAlgorithm: 'ES256' }, { ...NONE, privateKey: pem }, context),
    ).rejects.toThrow('the key does not sign with ES256');
  });

  it("AU-104: by the cluster's own key, with the same claims; a keyring that is not ready is told", async () => {
    const own = given({ KeySource: 'nomad', KeyAlgorithm: 'RS256', ExtraHeaders: { x: 'y' } });
    const asked: unknown[] = [];
    const signWithCluster: AssertionKeys['signWithCluster'] = async (...args) => {
      asked.push(args);
      return 'signed';
    };
    expect(await clientAssertion(own, { ...NONE, signWithCluster }, context)).toBe('signed');
    const times = { iat: NOW_S, nbf: NOW_S - 1, exp: NOW_S + 300 };
    expect(asked).toEqual([[{ iss: 'waybill', sub: 'waybill', aud: ISSUER, jti: 'uuid', ...times }, { x: 'y' }]]);
    const failed = clientAssertion(own, NONE, context);
    await expect(failed).rejects.toThrow('keyring is not ready');
    await expect(failed).rejects.toBeInstanceOf(ClientAssertionError);
  });
});

describe('what a provider says of itself', () => {
  const of = (metadata: unknown, url = ISSUER, status = 200) => {
    const scripted = new ScriptedProvider({ '/.well-known/openid-configuration': () => json(metadata, { status }) });
    return providerMetadata(url, scripted.fetch);
  };

  it('AU-73: is taken if its issuer is the URL, letter by letter', async () => {
    expect(await of({ ...METADATA, extra: [1] })).toMatchObject({ issuer: ISSUER, extra: [1] });
    await expect(of({ ...METADATA, issuer: `${ISSUER}/` })).rejects.toThrow(
      `issuer did not match the returned issuer, expected "${ISSUER}" got "${ISSUER}/"`,
    );
    expect(await of({ ...METADATA, issuer: `${ISSUER}/` }, `${ISSUER}/`)).toMatchObject({ issuer: `${ISSUER}/` });
  });

  it('what is no metadata, a redirect, or an address that is less safe than the URL, is refused', async () => {
    await expect(of(METADATA, ISSUER, 404)).rejects.toThrow('status 404');
    await expect(of(METADATA, ISSUER, 301)).rejects.toThrow('status 301');
    for (const metadata of ['text', [], {}, { issuer: ISSUER }, { ...METADATA, jwks_uri: 7 }])
      await expect(of(metadata)).rejects.toThrow('no metadata of an OpenID provider');
    for (const over of [
      { jwks_uri: 'http://idp.example/keys' },
      { token_endpoint: 'file:///etc/passwd' },
      { userinfo_endpoint: 'x' },
    ])
      await expect(of({ ...METADATA, ...over })).rejects.toThrow('is no https URL');
    const plain = 'http://127.0.0.1:1';
    expect(await of({ issuer: plain, jwks_uri: `${plain}/keys` }, plain)).toMatchObject({ issuer: plain });
  });
});
