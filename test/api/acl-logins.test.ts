import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Interrupts, runProgram } from '@waybill/cli';
import {
  connect,
  LOGINS_STREAM,
  managerOf,
  MAX_PENDING_LOGINS,
  type NatsLink,
  USED_LOGINS_STREAM,
} from '@waybill/journal';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TokenSecrets } from '../../apps/api/src/acl/token-secrets.js';
import type { PendingLogin } from '../../apps/api/src/logins/oidc/pending-login.js';
import { NatsPendingLogins } from '../../apps/api/src/logins/oidc/pending-logins.store.js';
import { CALL_TIMEOUT_MS, MAX_ANSWER_BYTES, outsideFetch } from '../../apps/api/src/logins/outside-calls.transport.js';
import { AccessCluster } from '../support/access-cluster.js';
import { runCli } from '../support/cli.js';
import { CLIENT_ID, CLIENT_SECRET, KEY_CLIENT_ID, OpenIdProvider } from '../support/openid-provider.js';
import { eventually } from '../support/wait.js';

const CALLBACK = 'http://127.0.0.1/oidc/callback';
const RULES = 'namespace "default" { policy = "read" }';
/** Fails so often that the limit is not met by accident, and is met on purpose at the end. */
const FAILURES_PER_MINUTE = 60;

interface Token {
  readonly AccessorID: string;
  readonly SecretID: string;
  readonly Name: string;
  readonly Type: string;
  readonly Policies: readonly string[] | null;
  readonly Roles: readonly { readonly ID: string; readonly Name: string }[] | null;
  readonly ExpirationTTL: string;
}

let cluster: AccessCluster;
let auditFile: string;
let provider: OpenIdProvider;

beforeAll(async () => {
  auditFile = path.join(mkdtempSync(path.join(tmpdir(), 'waybill-logins-')), 'audit.log');
  const keyFile = path.join(path.dirname(auditFile), 'keyring');
  writeFileSync(keyFile, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  [cluster, provider] = await Promise.all([
    AccessCluster.start(['projector', 'api'], {
      WAYBILL_ACL_FAILED_LOGINS_PER_MINUTE: String(FAILURES_PER_MINUTE),
      WAYBILL_ACL_LOGIN_SINGLE_USE: 'true',
      WAYBILL_ACL_LOGIN_ALLOWED_HOSTS: '127.0.0.1,localhost',
      WAYBILL_AUDIT_ENABLED: 'true',
      WAYBILL_AUDIT_SINKS: 'file',
      WAYBILL_AUDIT_FILE: auditFile,
      WAYBILL_KEYRING_KEY_FILE: keyFile,
    }),
    OpenIdProvider.start([CALLBACK]),
  ]);
  await cluster.policy('ops', RULES);
  await cluster.policy('readers', RULES);
  await cluster.asked('PUT', '/v1/acl/role', { Name: 'admins', Policies: [{ Name: 'readers' }] });
  await method('ci', 'JWT', {
    OIDCDiscoveryURL: provider.issuer,
    BoundAudiences: ['waybill'],
    ClaimMappings: { sub: 'user' },
  });
  await method(
    'people',
    'OIDC',
    {
      OIDCDiscoveryURL: provider.issuer,
      OIDCClientID: CLIENT_ID,
      OIDCClientSecret: CLIENT_SECRET,
      OIDCScopes: ['groups'],
      OIDCEnablePKCE: true,
      AllowedRedirectURIs: [CALLBACK],
      ClaimMappings: { sub: 'user' },
      ListClaimMappings: { groups: 'groups' },
    },
    { Default: true, TokenNameFormat: '${auth_method_name}-${value.user}' },
  );
  await rule('ci', 'policy', 'ops', 'value.user == "repo:app"');
  await rule('people', 'role', 'admins', '"admins" in list.groups');
  await rule('people', 'policy', 'ops', 'any list.groups as g { g matches "^ops-" }');
});

afterAll(async () => {
  await Promise.all([cluster?.stop(), provider?.stop()]);
  rmSync(path.dirname(auditFile), { recursive: true, force: true });
});

const method = (Name: string, Type: string, Config: object, over: object = {}): Promise<unknown> =>
  cluster.asked('PUT', '/v1/acl/auth-method', {
    Name,
    Type,
    TokenLocality: 'local',
    MaxTokenTTL: '1h',
    Config,
    ...over,
  });
const rule = (AuthMethod: string, BindType: string, BindName: string, Selector = ''): Promise<unknown> =>
  cluster.asked('PUT', '/v1/acl/binding-rule', { AuthMethod, BindType, BindName, Selector });

interface Answer<T> {
  readonly status: number;
  readonly text: string;
  readonly body: T;
  readonly headers: Headers;
}

/** Without a token, unless one is given. */
async function ask<T = Token>(path: string, body: unknown, token = ''): Promise<Answer<T>> {
  const answer = await cluster.send('PUT', path, token, body);
  const text = await answer.text();
  return {
    status: answer.status,
    text,
    headers: answer.headers,
    body: (answer.ok ? JSON.parse(text) : undefined) as T,
  };
}
const nowS = (): number => Math.floor(Date.now() / 1_000);
const claims = (over: object = {}) => ({ sub: 'repo:app', aud: 'waybill', iat: nowS(), exp: nowS() + 60, ...over });
const login = (LoginToken: string, AuthMethodName = 'ci') => ask('/v1/acl/login', { AuthMethodName, LoginToken });

describe('a JWT for a token', () => {
  it('AU-65, AU-3: is an ordinary token afterwards; what is sent beside the request is not looked at', async () => {
    const LoginToken = await provider.jwt(claims());
    const { status, body, headers } = await ask(
      '/v1/acl/login',
      { AuthMethodName: 'ci', LoginToken },
      'no token at all',
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ Name: 'JWT-ci', Type: 'client', Policies: ['ops'], ExpirationTTL: '1h0m0s' });
    expect(Number(headers.get('x-nomad-index'))).toBeGreaterThan(0);
    const self = await cluster.send('GET', '/v1/acl/token/self', body.SecretID);
    expect(await self.json()).toMatchObject({ AccessorID: body.AccessorID });
  });

  it('AU-66, AU-274: is named in the audit log by method, issuer and subject, and is not in it', async () => {
    const LoginToken = await provider.jwt(claims({ sub: 'repo:nobody' }));
    await ask('/v1/acl/login', { AuthMethodName: 'ci', LoginToken });
    const text = await eventually('its record', () => {
      const line = readFileSync(auditFile, 'utf8')
        .split('\n')
        .find((one) => one.includes('repo:nobody'));
      return line ?? false;
    });
    expect(JSON.parse(text)).toMatchObject({
      payload: {
        stage: 'OperationComplete',
        auth: { accessor_id: 'anonymous', auth_method: 'ci', issuer: provider.issuer, subject: 'repo:nobody' },
      },
    });
    expect(readFileSync(auditFile, 'utf8')).not.toContain(LoginToken);
  });

  it('AU-84: with an id logs in once, of several at once one, and is remembered until it expires', async () => {
    const LoginToken = await provider.jwt(claims({ jti: 'once', exp: nowS() + 600 }));
    const logins = await Promise.all(Array.from({ length: 4 }, () => login(LoginToken)));
    expect(logins.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401, 401]);
    expect(logins.find(({ status }) => status === 401)?.text).toContain('it has logged in before, and may do so once');
    const link = await connect({ url: cluster.waybill.stack.natsUrl, name: 'test' });
    const { streams } = await managerOf(link);
    const remembered = await streams.getMessage(USED_LOGINS_STREAM, { last_by_subj: `${USED_LOGINS_STREAM}.*` });
    const ttlS = Number.parseInt(remembered?.header.get('Nats-TTL') ?? '');
    expect(ttlS).toBeGreaterThan(600);
    expect(ttlS).toBeLessThanOrEqual(660);
    expect([remembered?.subject.includes('once'), remembered?.data.length]).toEqual([false, 0]);
    await link.close();
  });

  it('AU-108: is of no method whose provider is at a host that logins may not call', async () => {
    const answer = await cluster.send('PUT', '/v1/acl/auth-method', cluster.management, {
      Name: 'inner',
      Type: 'JWT',
      TokenLocality: 'local',
      MaxTokenTTL: '1h',
      Config: { JWKSURL: 'http://169.254.169.254/keys' },
    });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining('logins may not call that host'),
    ]);
  });

  it('AU-71, AU-74: refused tokens are told why, and make nothing', async () => {
    const before = (await cluster.asked<unknown[]>('GET', '/v1/acl/tokens')).length;
    const jwks = (await (await fetch(`${provider.issuer}/jwks`)).json()) as { keys: object[] };
    const [header, payload] = (await provider.jwt(claims())).split('.');
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    const hmacInput = `${Buffer.from('{"alg":"HS256"}').toString('base64url')}.${payload}`;
    const hmac = `${hmacInput}.${createHmac('sha256', JSON.stringify(jwks.keys[0])).update(hmacInput).digest('base64url')}`;
    for (const [token, why] of [
      [await provider.jwt(claims({ exp: nowS() - 61, iat: nowS() - 100 })), 'token is expired'],
      [await provider.jwt(claims({ nbf: nowS() + 90 })), 'token not yet valid'],
      [await provider.jwt(claims({ aud: 'other' })), 'audience claim does not match'],
      [`${header}.${payload}.AAAA`, 'error verifying token signature'],
      [unsigned, 'token must be signed'],
      [hmac, 'token signed with unexpected algorithm'],
      ['no token', 'error verifying token signature'],
      ['a.'.repeat(100_000), 'error verifying token signature'],
    ] as const) {
      const { status, text } = await login(token);
      expect([status, text], why).toEqual([401, expect.stringContaining(why) as string]);
    }
    expect(await login(await provider.jwt(claims({ sub: 'repo:other' })))).toMatchObject({
      status: 400,
      text: 'no role or policy bindings matched',
    });
    expect(await login('x', 'none')).toMatchObject({ status: 400, text: 'auth-method "none" not found' });
    expect((await cluster.asked<unknown[]>('GET', '/v1/acl/tokens')).length).toBe(before);
  });

  it('AU-73: a key that is new is fetched, and the old one no longer counts', async () => {
    const old = await provider.jwt(claims());
    await provider.rotateKey('second');
    const young = await provider.jwt(claims());
    await eventually('the new key counts', async () => (await login(young)).status === 200);
    expect((await login(old)).status).toBe(401);
  });

  it('AU-106, AU-318: a method that is changed counts with the next login; one whose keys are out of reach fails alone', async () => {
    await method('away', 'JWT', { JWKSURL: 'http://127.0.0.1:9/keys' });
    const { status, text } = await login(await provider.jwt(claims()), 'away');
    expect([status, text]).toEqual([401, expect.stringContaining('ECONNREFUSED') as string]);
    expect((await login(await provider.jwt(claims()))).status).toBe(200);
    await method('away', 'JWT', { OIDCDiscoveryURL: provider.issuer });
    expect((await login(await provider.jwt(claims()), 'away')).text).toBe('no role or policy bindings matched');
  });

  it('AU-321: a role or policy that is gone gives nothing', async () => {
    await cluster.policy('gone', RULES);
    await method('team', 'JWT', { OIDCDiscoveryURL: provider.issuer });
    await rule('team', 'policy', 'gone');
    const token = await provider.jwt(claims());
    expect((await login(token, 'team')).body).toMatchObject({ Policies: ['gone'] });
    await cluster.asked('DELETE', '/v1/acl/policy/gone');
    expect(await login(token, 'team')).toMatchObject({ status: 400, text: 'no role or policy bindings matched' });
    await rule('team', 'management', '');
    expect((await login(token, 'team')).body).toMatchObject({ Type: 'management', Policies: null });
  });
});

describe('a login at an OpenID provider', () => {
  let nonce = '';
  let count = 0;
  beforeEach(() => {
    nonce = `nonce-of-the-test-${count++}`;
  });
  const RedirectURI = 'http://127.0.0.1:4649/oidc/callback';
  const begin = async (over: object = {}) =>
    ask<{ AuthURL: string }>('/v1/acl/oidc/auth-url', {
      AuthMethodName: 'people',
      RedirectURI,
      ClientNonce: nonce,
      ...over,
    });
  const complete = (callback: string, over: object = {}) => {
    const { searchParams } = new URL(callback);
    const [State, Code, Iss] = ['state', 'code', 'iss'].map((name) => searchParams.get(name) ?? '');
    const request = { AuthMethodName: 'people', ClientNonce: nonce, RedirectURI, State, Code, Iss, ...over };
    return ask('/v1/acl/oidc/complete-auth', request);
  };

  it('AU-92, AU-96, AU-103: with PKCE, secret and user info', async () => {
    const { body } = await begin();
    expect(body.AuthURL).toContain('code_challenge_method=S256');
    expect(body.AuthURL).not.toContain(CLIENT_SECRET);
    const { status, text, body: token } = await complete(await provider.logIn(body.AuthURL, 'alice'));
    expect([status, text.includes(CLIENT_SECRET)]).toEqual([200, false]);
    expect(token).toMatchObject({ Name: 'people-alice', Policies: ['ops'], Roles: [{ Name: 'admins' }] });
    expect(provider.asked).toContain('/me');
  });

  it("AU-16, AU-104: by an assertion that the cluster's own key signs, before and after a rotation", async () => {
    provider.trustKeysAt(`${cluster.waybill.api.url}/.well-known/jwks.json`);
    const config = {
      OIDCDiscoveryURL: provider.issuer,
      OIDCClientID: KEY_CLIENT_ID,
      OIDCClientAssertion: { KeySource: 'nomad' },
      OIDCScopes: ['groups'],
      AllowedRedirectURIs: [CALLBACK],
      ClaimMappings: { sub: 'user' },
    };
    const rotate = () => cluster.asked<{ Key: { KeyID: string } }>('PUT', '/v1/operator/keyring/rotate');
    const logIn = async () => {
      nonce = `${nonce}-again`;
      const { body } = await begin({ AuthMethodName: 'keyed' });
      return complete(await provider.logIn(body.AuthURL, 'alice'), { AuthMethodName: 'keyed' });
    };
    await expect(method('keyed', 'OIDC', config)).rejects.toThrow('keyring is not ready - waiting for keys');
    await rotate();
    await method('keyed', 'OIDC', config);
    await rule('keyed', 'policy', 'ops');
    expect(await logIn()).toMatchObject({ status: 200, body: { Policies: ['ops'] } });
    await rotate();
    // It asks for the keys again, as it would once it no longer keeps the answer of before.
    provider.trustKeysAt(`${cluster.waybill.api.url}/.well-known/jwks.json`);
    expect(await logIn()).toMatchObject({ status: 200 });
    // A client of the same name whose keys are others is not let in.
    provider.trustKeysAt(`${provider.issuer}/jwks`);
    expect(await logIn()).toMatchObject({ status: 500, text: expect.stringContaining('invalid_client') as string });
  });

  it('AU-98, AU-312: a state is good once, and only for its own nonce', async () => {
    const callback = await provider.logIn((await begin()).body.AuthURL, 'alice');
    const outcomes = await Promise.all([complete(callback), complete(callback)]);
    expect(outcomes.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 400]);
    expect(await complete(callback)).toMatchObject({ status: 400, text: 'no OIDC request found for client nonce' });
    nonce = `${nonce}-other`;
    await begin();
    const { status, text } = await complete(callback);
    expect([status, text]).toEqual([
      500,
      'failed to exchange token with provider: authentication request state and authorization state are not equal',
    ]);
  });

  it('AU-91, AU-98, AU-99: a way back that is not the one of the login', async () => {
    expect(await begin({ RedirectURI: 'https://evil.example/' })).toMatchObject({
      status: 500,
      text: 'failed to generate auth URL: unauthorized redirect_uri',
    });
    nonce = `${nonce}-2`;
    const callback = await provider.logIn((await begin()).body.AuthURL, 'alice');
    const { status, text } = await complete(callback, { RedirectURI: 'http://127.0.0.1:5000/oidc/callback' });
    expect([status, text]).toEqual([500, expect.stringContaining('unauthorized redirect_uri') as string]);
  });

  it('AU-96, AU-97: what the provider refuses is told; a code of another login, a wrong issuer', async () => {
    const callback = await provider.logIn((await begin()).body.AuthURL, 'alice');
    expect(await complete(callback, { Iss: 'https://evil.example' })).toMatchObject({
      status: 500,
      text: 'invalid or missing issuer parameter in callback',
    });
    const { status, text } = await complete(callback, { Code: 'made-up' });
    expect([status, text]).toEqual([
      500,
      expect.stringContaining('failed to exchange token with provider: invalid_grant') as string,
    ]);
  });

  it('AU-63: somebody whose groups give nothing gets nothing', async () => {
    const callback = await provider.logIn((await begin()).body.AuthURL, 'bob');
    expect(await complete(callback)).toMatchObject({ status: 400, text: 'no role or policy bindings matched' });
  });

  it('AU-74: a provider that has changed its key is believed, one that has lost it is not', async () => {
    const first = await provider.logIn((await begin()).body.AuthURL, 'alice');
    expect((await complete(first)).status).toBe(200);
    await provider.rotateKey('third');
    await eventually('the new key counts', async () => {
      nonce = `${nonce}-again`;
      const callback = await provider.logIn((await begin()).body.AuthURL, 'alice');
      return (await complete(callback)).status === 200;
    });
  });
});

describe('waybill login', () => {
  /** The command with a browser that is this test: it sees where the command would go. */
  async function withBrowser(words: readonly string[], browse: (url: string) => Promise<void>) {
    let [out, err] = ['', ''];
    let gone: Promise<void> | undefined;
    const heard = (): void => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+\/auth\?\S+/.exec(out + err) ?? [];
      if (url !== undefined) gone ??= browse(url);
    };
    const sink = (take: (text: string) => void) => ({
      isTTY: false,
      write: (text: string | Uint8Array) => {
        take(String(text));
        heard();
        return true;
      },
      once: () => undefined,
    });
    const interrupts = new Interrupts();
    const code = await runProgram('waybill', ['login', ...words], {
      env: { WAYBILL_ADDR: cluster.waybill.api.url, BROWSER: '/nonexistent/browser' },
      stdout: sink((text) => (out += text)),
      stderr: sink((text) => (err += text)),
      interrupts,
    });
    await gone;
    return { code, out, err };
  }
  const follow = async (url: string): Promise<void> => {
    const answer = await fetch(url);
    await answer.text();
  };
  const ANY_PORT = '-oidc-callback-addr=127.0.0.1:0';

  it('AU-292, AU-293: with the default method, through the browser', async () => {
    const { code, out, err } = await withBrowser([ANY_PORT], async (url) => follow(await provider.logIn(url, 'alice')));
    expect([code, err]).toEqual([0, expect.stringMatching(/^Error opening OIDC provider URL: /) as string]);
    expect(out).toContain('Successfully logged in via OIDC and people\n\nAccessor ID');
    expect(out).toMatch(/Name +│? *= ?people-alice|Name\s+= people-alice/);
  });

  it('AU-293, AU-294: with -json stdout is the token alone; a stranger at the callback changes nothing', async () => {
    const { code, out } = await withBrowser([ANY_PORT, '-json'], async (url) => {
      const back = await provider.logIn(url, 'alice');
      const strange = new URL(back);
      strange.searchParams.set('state', 'st_made_up');
      expect((await fetch(strange)).status).toBe(400);
      expect((await fetch(new URL('/other', back))).status).toBe(404);
      await follow(back);
    });
    expect([code, (JSON.parse(out) as Token).Name]).toEqual([0, 'people-alice']);
  });

  it('AU-294: what the provider refuses is the error of the command', async () => {
    const { code, err } = await withBrowser([ANY_PORT], async (url) => follow(await provider.refuse(url)));
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('Error performing login: access_denied: End-User aborted interaction\n') as string,
    ]);
  });

  it('AU-291, AU-293: by a JWT', async () => {
    const jwt = await provider.jwt(claims());
    const url = cluster.waybill.api.url;
    const { code, out, err } = await runCli(url, ['login', '-method=ci', `-login-token=${jwt}`, '-type=JWT']);
    expect([code, out]).toEqual([0, expect.stringContaining('Successfully logged in via JWT and ci\n\n') as string]);
    expect(err).toBe("warning: '-type' flag has been deprecated for nomad login command and will be ignored.\n");
    const secret = await runCli(url, ['login', '-method=ci', `-login-token=${jwt}`, '-t', '{{.SecretID}}']);
    expect((await cluster.send('GET', '/v1/acl/token/self', secret.out.trim())).status).toBe(200);
  });

  it('AU-291: errors', async () => {
    const url = cluster.waybill.api.url;
    const busy = createServer();
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(busy.address() as AddressInfo).port}`;
    for (const [words, text] of [
      [['-method=none'], 'Error: method none not found in the state store. '],
      [['-method=ci'], 'You need to provide a login token.'],
      [['-method=ci', '-login-token=x'], 'Error performing login: Unexpected response code: 401 (unable to validate'],
      [['-oidc-callback-addr=nowhere'], 'must be a host and a port such as localhost:4649; got: nowhere'],
      [[`-oidc-callback-addr=${address}`], `cannot listen on ${address} for the provider's answer: the port is in use`],
      [['one'], 'This command takes no arguments'],
    ] as const) {
      const { code, err } = await runCli(url, ['login', ...words]);
      expect([code, err], words.join(' ')).toEqual([1, expect.stringContaining(text) as string]);
    }
    await new Promise((resolve) => busy.close(resolve));
  });
});

describe('pending logins in NATS', () => {
  let link: NatsLink;
  const store = () => new NatsPendingLogins(link, () => new TokenSecrets(Buffer.alloc(32, 1)));
  const pending = (over: Partial<PendingLogin> = {}): PendingLogin => ({
    method: 'people',
    redirectUri: CALLBACK,
    state: 'st_secret',
    verifier: 'verifier-secret',
    begunMs: 1,
    ...over,
  });
  beforeAll(async () => {
    link = await connect({ url: cluster.waybill.stack.natsUrl, name: 'test' });
  });
  afterAll(async () => {
    await link?.close();
  });

  it('AU-93, AU-94, AU-313: one for each nonce, at any API; taken out once; and NATS can read nothing of it', async () => {
    const [a, b] = [store(), store()];
    const begun = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (n % 2 ? a : b).beginLogin('nonce-secret', pending({ state: `st_secret_${n}` })),
      ),
    );
    expect(new Set(begun.map(({ state }) => state)).size).toBe(1);
    expect(await b.find('nonce-secret')).toEqual(begun[0]);
    const stored = await (
      await managerOf(link)
    ).streams.getMessage(LOGINS_STREAM, { last_by_subj: `${LOGINS_STREAM}.*` });
    expect(`${stored?.subject} ${Buffer.from(stored?.data ?? []).toString()}`).not.toMatch(/secret|people/);
    const taken = await Promise.all([
      a.takeLogin('nonce-secret'),
      b.takeLogin('nonce-secret'),
      a.takeLogin('nonce-secret'),
    ]);
    expect(taken.filter((one) => one !== undefined)).toEqual([begun[0]]);
    expect(await a.find('nonce-secret')).toBeUndefined();
  });

  it('AU-95: more than may be pending are refused, and drive out none', async () => {
    const full = store();
    const outcomes: string[] = [];
    for (let from = 0; from <= MAX_PENDING_LOGINS; from += 50)
      outcomes.push(
        ...(await Promise.all(
          Array.from({ length: 50 }, async (_, n) => {
            try {
              await full.beginLogin(`many-${from + n}`, pending());
              return 'kept';
            } catch (error) {
              return (error as Error).message;
            }
          }),
        )),
      );
    expect(outcomes.filter((one) => one === 'kept').length).toBeLessThanOrEqual(MAX_PENDING_LOGINS);
    expect(outcomes.at(-1)).toBe('error storing OIDC request: too many auth requests');
    expect(await full.takeLogin('many-0')).toBeDefined();
    await (await managerOf(link)).streams.purge(LOGINS_STREAM);
  });
});

describe('calls to providers', () => {
  let server: Server;
  let url: string;
  const asked: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url ?? '');
      if (request.url === '/moved') response.writeHead(302, { location: '/elsewhere' }).end();
      else if (request.url === '/huge') response.end(Buffer.alloc(MAX_ANSWER_BYTES + 1));
      else if (request.url === '/cut')
        response.writeHead(200, { 'content-length': '10' }).write('half', () => response.destroy());
      else if (request.url?.startsWith('/silent')) return;
      else response.end('answer');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const call = (path: string, signal?: AbortSignal) =>
    outsideFetch([])(`${url}${path}`, { method: 'GET', headers: {}, signal });

  it('AU-107: follow no redirect, and read no answer that is too long or cut off', async () => {
    expect(await (await call('/')).text()).toBe('answer');
    expect((await call('/moved')).status).toBe(302);
    expect(asked).not.toContain('/elsewhere');
    await expect(call('/huge')).rejects.toThrow(`GET ${url}/huge: the body is longer than ${MAX_ANSWER_BYTES} bytes`);
    await expect(call('/cut')).rejects.toThrow('GET ');
    await expect(outsideFetch([])('http://127.0.0.1:9/x?secret=1', { method: 'GET', headers: {} })).rejects.toThrow(
      /^GET http:\/\/127\.0\.0\.1:9\/x: connect ECONNREFUSED/,
    );
  });

  it('AU-79: end when they take too long', async () => {
    expect(CALL_TIMEOUT_MS).toBeLessThanOrEqual(10_000);
    await expect(call('/silent?secret=1', AbortSignal.timeout(50))).rejects.toThrow(`GET ${url}/silent: `);
  });
});

it('AU-8: an address that fails too often is answered 429, by logins, bootstrap and one-time exchange alike', async () => {
  const fail = () => ask('/v1/acl/token/onetime/exchange', { OneTimeSecretID: 'x' });
  for (let n = 0; n < FAILURES_PER_MINUTE && (await fail()).status === 403; n++);
  for (const [path, body] of [
    ['/v1/acl/token/onetime/exchange', { OneTimeSecretID: 'x' }],
    ['/v1/acl/bootstrap', {}],
    ['/v1/acl/login', { AuthMethodName: 'ci', LoginToken: await provider.jwt(claims()) }],
    ['/v1/acl/oidc/auth-url', {}],
    ['/v1/acl/oidc/complete-auth', {}],
  ] as const) {
    const { status, headers } = await ask(path, body);
    expect([path, status, Number(headers.get('retry-after')) > 0]).toEqual([path, 429, true]);
  }
});
