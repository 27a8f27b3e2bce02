import { generateKeyPairSync } from 'node:crypto';
import { type AuthMethod, type BindingRule, FakeTime, NS_PER_HOUR, NS_PER_MINUTE } from '@waybill/model';
import type { AccessReads, LoginGrounds, WantedGrants } from '@waybill/projection';
import type { Logger } from '@waybill/telemetry';
import type { Author } from '@waybill/writing';
import { exportJWK, SignJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { AccessControl } from '../acl/access-control.js';
import { BootstrapReset } from '../acl/bootstrap-reset.store.js';
import { LoginHosts } from '../acl/login-hosts.js';
import { MethodSecrets } from '../acl/method-secrets.js';
import { TokenSecrets } from '../acl/token-secrets.js';
import type { VerifiedSubject } from '../http/request-notes.js';
import { DEFAULT_SKEW_S } from './jwt/claim-checks.js';
import { KeySources } from './jwt/key-sources.js';
import type { UsedLogins } from './jwt/used-logins.js';
import { JwtLogins } from './jwt-logins.js';
import { readAuthUrl, readCompleteAuth, readLogin } from './login-request.js';
import { LoginTokens } from './login-tokens.js';
import type { ClientCredentials } from './client-credentials.store.js';
import { MAX_PENDING_PER_ADDRESS, type PendingLogin, type PendingLogins } from './oidc/pending-login.js';
import { ISSUER, json, METADATA, REDIRECT, ScriptedProvider } from './oidc/scripted-provider.fixture.js';
import { OidcLogins } from './oidc-logins.js';

const NOW_S = Math.floor(Date.now() / 1_000);
const NOBODY = { actor: { Kind: 'anonymous', ID: '', Name: 'anonymous' } } as Author;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString();

const aMethod = (over: Partial<AuthMethod> = {}, config: Partial<AuthMethod['Config']> = {}): AuthMethod => ({
  Name: 'ci',
  Type: 'JWT',
  TokenLocality: 'local',
  TokenNameFormat: '${auth_method_type}-${value.user}',
  MaxTokenTTL: NS_PER_HOUR,
  Default: false,
  Config: {
    JWTValidationPubKeys: [pem],
    JWKSURL: '',
    JWKSCACert: '',
    OIDCDiscoveryURL: '',
    DiscoveryCaPem: null,
    OIDCClientID: '',
    SealedClientSecret: '',
    OIDCClientAssertion: null,
    OIDCEnablePKCE: false,
    OIDCDisableUserInfo: false,
    OIDCScopes: null,
    AllowedRedirectURIs: null,
    BoundAudiences: ['waybill'],
    BoundIssuer: null,
    SigningAlgs: null,
    ExpirationLeeway: 0,
    NotBeforeLeeway: 0,
    ClockSkewLeeway: 0,
    ClaimMappings: { sub: 'user' },
    ListClaimMappings: null,
    VerboseLogging: false,
    ...config,
  },
  Hash: '',
  CreateTime: '',
  ModifyTime: '',
  CreateIndex: 1,
  ModifyIndex: 1,
  ...over,
});
const RULE: BindingRule = {
  ID: 'r1',
  Description: '',
  AuthMethod: 'ci',
  Selector: 'value.user != mallory',
  BindType: 'policy',
  BindName: '${value.user}',
  Hash: '',
  CreateTime: '',
  ModifyTime: '',
  CreateIndex: 1,
  ModifyIndex: 1,
};

/** Pending logins in memory. */
class PendingInMemory implements PendingLogins {
  readonly logins = new Map<string, PendingLogin>();
  async beginLogin(nonce: string, login: PendingLogin): Promise<PendingLogin> {
    const kept = this.logins.get(nonce) ?? login;
    this.logins.set(nonce, kept);
    return kept;
  }
  async find(nonce: string): Promise<PendingLogin | undefined> {
    return this.logins.get(nonce);
  }
  async takeLogin(nonce: string): Promise<PendingLogin | undefined> {
    const kept = this.logins.get(nonce);
    this.logins.delete(nonce);
    return kept;
  }
}

/** What logins are made on, in memory; it remembers what was written and logged. */
class World {
  methods: AuthMethod[] = [aMethod()];
  rules: BindingRule[] = [RULE];
  policies = ['alice'];
  readonly written: { Name: string; Policies: string[] | null }[] = [];
  readonly logged: string[] = [];
  readonly time = new FakeTime(NOW_S * 1_000);
  readonly pending = new PendingInMemory();
  provider = new ScriptedProvider({});
  used: UsedLogins | undefined;
  /** Is called when a login has read its method. */
  afterRead = (): void => {};

  private get access(): AccessReads {
    const reads = {
      authMethod: async (name: string) => {
        const row = this.methods.find(({ Name }) => Name === name);
        this.afterRead();
        return { index: 1, row };
      },
      loginGrounds: async <W extends WantedGrants>(
        method: string,
        bind: (rules: readonly BindingRule[]) => W,
      ): Promise<LoginGrounds<W>> => {
        const wanted = bind(this.rules.filter(({ AuthMethod: of }) => of === method));
        return { wanted, roles: [], policies: wanted.policies.filter((name) => this.policies.includes(name)) };
      },
    };
    return reads as unknown as AccessReads;
  }

  private get tokens(): LoginTokens {
    const log = (level: string) => (message: string, fields: object) =>
      this.logged.push(`${level} ${message} ${JSON.stringify(fields)}`);
    const logger = { with: () => ({ debug: log('debug'), warn: log('warn') }) } as unknown as Logger;
    const writes = {
      nowMs: () => this.time.nowMs(),
      write: async ({ payload }: { payload: { Tokens: World['written'] } }) => {
        this.written.push(...payload.Tokens);
        return { index: 7 };
      },
    } as unknown as ConstructorParameters<typeof LoginTokens>[0]['writes'];
    const access = new AccessControl({
      secrets: new TokenSecrets(Buffer.alloc(32, 1)),
      methodSecrets: new MethodSecrets(Buffer.alloc(32, 1)),
      limits: { minTtlNs: NS_PER_MINUTE, maxTtlNs: 24 * NS_PER_HOUR },
      reset: new BootstrapReset('/nonexistent'),
      loginHosts: new LoginHosts([]),
    });
    return new LoginTokens({ model: { access: this.access }, writes, access, logger });
  }

  private get keys(): KeySources {
    const metrics = { histogram: () => ({ observe: () => {} }) as never };
    return new KeySources({ clock: this.time, fetchWith: () => this.provider.fetch, metrics });
  }

  get jwt(): JwtLogins {
    const { keys, tokens, time: clock, used } = this;
    return new JwtLogins({ model: { access: this.access }, keys, tokens, clock, ...(used && { used }) });
  }

  readonly oidc = (): OidcLogins =>
    new OidcLogins({
      model: { access: this.access },
      keys: this.keys,
      tokens: this.tokens,
      clock: this.time,
      pending: this.pending,
      credentials: { clientSecret: () => 'client-secret' } as unknown as ClientCredentials,
      fetchWith: () => this.provider.fetch,
    });
}

let world: World;
beforeEach(() => {
  world = new World();
});

/** Status and text of a failure; `done` when there is none. */
async function outcome(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
    return 'done';
  } catch (error) {
    const { status, code, message } = error as { status?: number; code?: string; message: string };
    return `${status ?? code}: ${message}`;
  }
}

const body = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

describe('AU-71, AU-91, AU-96: requests', () => {
  it('miss nothing', () => {
    expect(() => readLogin(body({}))).toThrow(
      'invalid login request: 2 errors occurred:\n\t* missing auth method name\n\t* missing login token\n\n',
    );
    expect(() => readAuthUrl(body({ AuthMethodName: 'a' }))).toThrow(
      'invalid OIDC auth-url request: 2 errors occurred:\n\t* missing client nonce\n\t* missing redirect URI\n\n',
    );
    expect(() => readCompleteAuth(body({}))).toThrow(
      'invalid OIDC complete-auth request: 5 errors occurred:\n\t* missing auth method name\n\t* missing client nonce\n' +
        '\t* missing state\n\t* missing code\n\t* missing redirect URI\n\n',
    );
  });

  it('are objects of texts', () => {
    for (const bad of [[], 'a', 7, { AuthMethodName: 7, LoginToken: 'a' }])
      expect(() => readLogin(body(bad))).toThrow();
    expect(() => readLogin(Buffer.alloc(0))).toThrow('Request body is empty');
  });
});

/** Whom the audit log was told of. */
let subjects: VerifiedSubject[];
beforeEach(() => {
  subjects = [];
});
const told = (subject: VerifiedSubject): void => void subjects.push(subject);

describe('logins by JWT', () => {
  const token = (claims: object = {}): Promise<string> =>
    new SignJWT({ sub: 'alice', aud: 'waybill', iat: NOW_S, exp: NOW_S + 60, ...claims })
      .setProtectedHeader({ alg: 'RS256' })
      .sign(rsa.privateKey);
  const login = async (claims: object = {}, AuthMethodName = 'ci') =>
    outcome(world.jwt.login({ AuthMethodName, LoginToken: await token(claims) }, NOBODY, told));

  it('AU-65, AU-67: make a token each', async () => {
    expect(await Promise.all([login(), login()])).toEqual(['done', 'done']);
    expect(world.written).toMatchObject([
      { Name: 'JWT-alice', Policies: ['alice'] },
      { Name: 'JWT-alice', Policies: ['alice'] },
    ]);
  });

  it('AU-320: use the method as it was when they began, although it changes meanwhile', async () => {
    world.afterRead = () => void (world.methods = [aMethod({}, { ClaimMappings: {}, BoundAudiences: ['other'] })]);
    expect(await login()).toBe('done');
    expect(world.written).toMatchObject([{ Name: 'JWT-alice', Policies: ['alice'] }]);
    expect(await login()).toMatch(/^401: /);
  });

  it('AU-71: unknown method, method of another type, token, claims, binding, name: in this order, with their texts', async () => {
    expect(await login({}, 'x')).toBe('invalid: auth-method "x" not found');
    world.methods = [aMethod({ Type: 'OIDC' })];
    expect(await login()).toBe('invalid: unsupported auth-method type: OIDC');
    world.methods = [aMethod({ TokenNameFormat: '${value.x}' })];
    const invalid = '401: unable to validate provided token: unable to verify signature of JWT token: ';
    expect(await login({ aud: 'x', sub: {} })).toBe(
      `${invalid}invalid audience (aud) claim: audience claim does not match any expected audience`,
    );
    expect(await login({ exp: NOW_S - 61 })).toBe(`${invalid}invalid expiration time (exp) claim: token is expired`);
    expect(await login({ sub: {} })).toMatch(/^internal: error converting claim 'sub' to string/);
    expect(await login({ sub: 'mallory' })).toMatch(/^internal: failed to generate ACL token name: unknown variable/);
    world.methods = [aMethod()];
    expect(await login({ sub: 'mallory' })).toBe('invalid: no role or policy bindings matched');
    expect(await login({ sub: 'not a name' })).toMatch(
      /^invalid: computed "policy" bind name for bind target is invalid/,
    );
    expect(await login()).toBe('done');
    expect(world.written).toHaveLength(1);
  });

  it('AU-77: the texts of a bound issuer stand alone', async () => {
    world.methods = [aMethod({}, { BoundIssuer: ['https://ci.example'] })];
    expect(await login({ iss: 'https://evil.example' })).toBe(
      '401: unable to validate provided token: invalid JWT issuer: https://evil.example',
    );
    expect(await login()).toContain('auth method specifies BoundIssuers but');
    expect(await login({ iss: 'https://ci.example' })).toBe('done');
  });

  it('AU-318: keys that cannot be fetched, or are none, let nobody in', async () => {
    world.methods = [aMethod({}, { JWTValidationPubKeys: null, JWKSURL: 'https://idp.example/keys' })];
    expect(await login()).toContain(
      '401: unable to validate provided token: unable to verify signature of JWT token: ',
    );
    world.methods = [aMethod({}, { JWTValidationPubKeys: ['no key'] })];
    expect(await login()).toContain('unable to parse public key for JWT auth: data does not contain');
    world.methods = [aMethod({}, { JWTValidationPubKeys: null })];
    expect(await login()).toMatch(/^401: /);
    expect(world.written).toEqual([]);
  });

  it('AU-66, AU-274: the audit log is told who it is once the token is verified, whatever comes of it', async () => {
    await login({ iss: 'https://ci.example' });
    await login({ sub: 'mallory' });
    await login({ exp: NOW_S - 61 });
    expect(subjects).toEqual([
      { method: 'ci', issuer: 'https://ci.example', subject: 'alice' },
      { method: 'ci', issuer: '', subject: 'mallory' },
    ]);
  });

  it('AU-84: a token with an id logs in once by its method, where the setting says so; one without as often as it likes', async () => {
    const claimed: unknown[] = [];
    world.used = {
      claim: async (...claim) => {
        const isNew = !claimed.some((one) => JSON.stringify(one) === JSON.stringify(claim));
        claimed.push(claim);
        return isNew;
      },
    };
    const again = '401: unable to validate provided token: it has logged in before, and may do so once';
    expect([await login({ jti: 'j1' }), await login({ jti: 'j1' }), await login({ jti: 'j2' })]).toEqual([
      'done',
      again,
      'done',
    ]);
    expect([await login(), await login()]).toEqual(['done', 'done']);
    expect(claimed[0]).toEqual(['ci', 'j1', (NOW_S + 60 + DEFAULT_SKEW_S) * 1_000]);
  });

  it('AU-83, AU-111: nothing of the token is logged, and claims only where the method says so, without credentials', async () => {
    const LoginToken = await token({ github_token: 'ghp_1', nested: { my_secret: 's3' }, team: 'ops' });
    await world.jwt.login({ AuthMethodName: 'ci', LoginToken }, NOBODY, told);
    expect(world.logged).toEqual([]);
    world.methods = [aMethod({}, { VerboseLogging: true })];
    await world.jwt.login({ AuthMethodName: 'ci', LoginToken }, NOBODY, told);
    const all = world.logged.join('\n');
    expect(all).toContain('debug attempting login with verbose logging enabled');
    expect(all).toContain('ops');
    for (const secret of ['ghp_1', 's3', ...LoginToken.split('.')]) expect(all).not.toContain(secret);
  });

  it('AU-48: a rule that cannot be decided is warned of, and the login goes on', async () => {
    world.rules = [{ ...RULE, ID: 'r0', Selector: 'values.x == 1' }, RULE];
    expect(await login()).toBe('done');
    expect(world.logged).toHaveLength(1);
    expect(world.logged[0]).toMatch(/^warn a binding rule cannot be decided and does not match .*r0/);
  });
});

describe('logins at an OpenID provider', () => {
  const okta = (config: Partial<AuthMethod['Config']> = {}): AuthMethod =>
    aMethod(
      { Name: 'okta', Type: 'OIDC' },
      {
        JWTValidationPubKeys: null,
        OIDCDiscoveryURL: ISSUER,
        OIDCClientID: 'waybill',
        BoundAudiences: null,
        ...config,
      },
    );
  const REQUEST = { AuthMethodName: 'okta', RedirectURI: REDIRECT, ClientNonce: 'nonce' };
  let metadata: object;
  let claims: object;
  let info: object;

  beforeEach(() => {
    metadata = METADATA;
    claims = {};
    info = { sub: 'alice' };
    world.methods = [okta(), aMethod()];
    world.rules = [{ ...RULE, AuthMethod: 'okta' }];
    const id_token = () =>
      new SignJWT({ iss: ISSUER, sub: 'alice', aud: 'waybill', nonce: 'nonce', iat: NOW_S, exp: NOW_S + 60, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'k' })
        .sign(rsa.privateKey);
    world.provider = new ScriptedProvider({
      '/.well-known/openid-configuration': () => json(metadata),
      '/keys': async () => json({ keys: [{ ...(await exportJWK(rsa.publicKey)), kid: 'k' }] }),
      '/token': async () => json({ access_token: 'at', token_type: 'Bearer', id_token: await id_token() }),
      '/me': () => json(info),
    });
  });

  const begin = (over: object = {}, address = '10.0.0.1', oidc = world.oidc()) =>
    oidc.begin({ ...REQUEST, ...over }, address);
  const stateOf = (url: string): string => new URL(url).searchParams.get('state') ?? '';
  const complete = (State: string, over: object = {}) =>
    outcome(world.oidc().complete({ ...REQUEST, State, Code: 'code', Iss: '', ...over }, NOBODY, told));
  const exchanges = (): number => world.provider.calls.filter(({ url }) => url.endsWith('/token')).length;

  it('AU-311: begun at one API, completed at another', async () => {
    expect(await complete(stateOf(await begin()))).toBe('done');
    expect(subjects).toMatchObject([{ subject: 'alice' }]);
    expect(world.written).toMatchObject([{ Name: 'OIDC-alice', Policies: ['alice'] }]);
  });

  it('AU-91: unknown method, method of another type, provider', async () => {
    expect(await outcome(begin({ AuthMethodName: 'x' }))).toBe('invalid: auth-method "x" not found');
    expect(await outcome(begin({ AuthMethodName: 'ci' }))).toBe('invalid: unsupported auth-method type: JWT');
    metadata = { ...METADATA, issuer: 'https://other.example' };
    expect(await outcome(begin())).toBe(
      `internal: failed to generate OIDC provider: issuer did not match the returned issuer, expected "${ISSUER}" got "https://other.example"`,
    );
    world.provider = new ScriptedProvider({});
    expect(await outcome(begin())).toMatch(/^internal: failed to generate OIDC provider: /);
  });

  it('AU-320: a method that changes while a login runs: the login uses one version of it, or fails before it asks anybody', async () => {
    world.methods = [{ ...okta(), Hash: 'old' }];
    const early = stateOf(await begin());
    world.methods = [{ ...okta({ OIDCClientID: 'other' }), Hash: 'new' }];
    const changed = 'the auth method has changed since the login began: log in again';
    expect(await complete(early)).toBe(`internal: failed to exchange token with provider: ${changed}`);
    expect(exchanges()).toBe(0);
    world.methods = [{ ...okta(), Hash: 'newest' }];
    const late = stateOf(await begin());
    world.afterRead = () => void (world.methods = [{ ...okta({ ClaimMappings: {} }), Hash: 'newer still' }]);
    expect(await complete(late)).toBe('done');
    expect(world.written).toMatchObject([{ Name: 'OIDC-alice', Policies: ['alice'] }]);
  });

  it('AU-91, AU-99: a way back that is not allowed gets no URL, and completes nothing', async () => {
    world.methods = [okta({ AllowedRedirectURIs: ['http://localhost:4649/oidc/callback'] })];
    const evil = 'https://evil.example';
    expect(await outcome(begin({ RedirectURI: evil, ClientNonce: 'n' }))).toBe(
      'internal: failed to generate auth URL: unauthorized redirect_uri',
    );
    world.methods = [okta()];
    const state = stateOf(await begin());
    world.methods = [okta({ AllowedRedirectURIs: [evil] })];
    expect(await complete(state)).toBe('internal: failed to exchange token with provider: unauthorized redirect_uri');
  });

  it('AU-93, AU-313: two hundred calls with one nonce at once are one request with one URL', async () => {
    world.methods = [okta({ OIDCEnablePKCE: true })];
    const oidc = world.oidc();
    const urls = await Promise.all(Array.from({ length: 200 }, () => begin({}, '10.0.0.1', oidc)));
    expect(new Set(urls).size).toBe(1);
    expect(stateOf(urls[0] ?? '')).toMatch(/^st_.{20,}$/);
  });

  it('AU-93, AU-314: a nonce that was used for another way back or method is refused', async () => {
    world.methods = [okta(), { ...okta(), Name: 'other' }];
    await begin({ RedirectURI: 'https://attacker.example' });
    expect(await outcome(begin())).toBe('invalid: nonce reuse detected');
    expect(await outcome(begin({ RedirectURI: 'https://attacker.example', AuthMethodName: 'other' }))).toBe(
      'invalid: nonce reuse detected',
    );
  });

  it('AU-95: one address may begin a hundred a minute; what it began goes on, and others are not held up', async () => {
    const oidc = world.oidc();
    for (let n = 0; n < MAX_PENDING_PER_ADDRESS; n++) await begin({ ClientNonce: `n${n}` }, '10.0.0.1', oidc);
    expect(await outcome(begin({ ClientNonce: 'more' }, '10.0.0.1', oidc))).toBe(
      '429: error storing OIDC request: too many auth requests',
    );
    expect(world.pending.logins.size).toBe(MAX_PENDING_PER_ADDRESS);
    expect(await outcome(begin({ ClientNonce: 'n7' }, '10.0.0.1', oidc))).toBe('done');
    expect(await outcome(begin({ ClientNonce: 'more' }, '10.0.0.2', oidc))).toBe('done');
    world.time.freeze(60_001);
    expect(await outcome(begin({ ClientNonce: 'later' }, '10.0.0.1', oidc))).toBe('done');
  });

  it('AU-312: completed twice at once, there is one token and one exchange', async () => {
    const state = stateOf(await begin());
    const outcomes = await Promise.all([complete(state), complete(state)]);
    expect(outcomes.toSorted()).toEqual(['done', 'invalid: no OIDC request found for client nonce']);
    expect([world.written.length, exchanges()]).toEqual([1, 1]);
  });

  it('AU-96, AU-98: a wrong state, way back or method spends the nonce and asks the provider nothing', async () => {
    world.methods = [okta(), { ...okta(), Name: 'other' }];
    for (const over of [{ State: 'st_x' }, { RedirectURI: 'https://x.example' }, { AuthMethodName: 'other' }]) {
      const state = stateOf(await begin());
      expect(await complete(state, over)).toMatch(/^internal: failed to exchange token with provider: /);
      expect(await complete(state)).toBe('invalid: no OIDC request found for client nonce');
    }
    const state = stateOf(await begin());
    world.time.freeze(60_001);
    expect(await complete(state)).toBe(
      'internal: failed to exchange token with provider: authentication request is expired',
    );
    expect(exchanges()).toBe(0);
  });

  it('AU-97: an issuer that is wrong, or missing where the provider sends one, spends nothing', async () => {
    const state = stateOf(await begin());
    const wrong = 'internal: invalid or missing issuer parameter in callback';
    expect(await complete(state, { Iss: 'https://evil.example' })).toBe(wrong);
    metadata = { ...METADATA, authorization_response_iss_parameter_supported: true };
    expect(await complete(state)).toBe(wrong);
    expect(await complete(state, { Iss: ISSUER })).toBe('done');
  });

  it('AU-101: an ID token with wrong claims, or signed by somebody else, is refused', async () => {
    for (const wrong of [
      { nonce: 'x' },
      { aud: 'x' },
      { iss: 'https://x.example' },
      { exp: NOW_S - 100 },
      { at_hash: 'x' },
    ]) {
      claims = wrong;
      expect(await complete(stateOf(await begin())), JSON.stringify(wrong)).toMatch(
        /^internal: failed to exchange token with provider: /,
      );
    }
    claims = {};
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const forged = await new SignJWT({
      iss: ISSUER,
      sub: 'alice',
      aud: 'waybill',
      nonce: 'nonce',
      iat: NOW_S,
      exp: NOW_S + 60,
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'k' })
      .sign(other.privateKey);
    world.provider = new ScriptedProvider({
      ...world.provider.answers,
      '/token': () => json({ access_token: 'at', token_type: 'Bearer', id_token: forged }),
    });
    expect(await complete(stateOf(await begin()))).toMatch(/error verifying token signature/);
    expect(world.written).toEqual([]);
  });

  it('AU-78: a bound issuer holds here too, and AU-76 audiences', async () => {
    world.methods = [okta({ BoundIssuer: ['https://x.example'] })];
    expect(await complete(stateOf(await begin()))).toContain('invalid JWT issuer');
    world.methods = [okta({ BoundAudiences: ['x'] })];
    expect(await complete(stateOf(await begin()))).toContain('audience claim does not match');
  });

  it('AU-45, AU-102, AU-315: user info adds claims, but none of another subject; a method may do without', async () => {
    info = { sub: 'alice', iss: ISSUER, user: 'info' };
    world.methods = [okta({ ClaimMappings: { user: 'user' } })];
    world.policies = ['info'];
    expect(await complete(stateOf(await begin()))).toBe('done');
    expect(world.written).toMatchObject([{ Policies: ['info'] }]);
    for (const wrong of [{ sub: 'mallory' }, { sub: 'alice', iss: 'https://x.example' }]) {
      info = wrong;
      expect(await complete(stateOf(await begin()))).toMatch(/^internal: failed to retrieve the user info claims: /);
    }
    world.methods = [okta({ OIDCDisableUserInfo: true })];
    world.policies = ['alice'];
    expect(await complete(stateOf(await begin()))).toBe('done');
  });

  it('AU-103: with PKCE, the verifier that is sent fits the challenge', async () => {
    world.methods = [okta({ OIDCEnablePKCE: true })];
    const url = await begin();
    expect(await complete(stateOf(url))).toBe('done');
    const verifier = world.provider.calls.find((call) => call.url.endsWith('/token'))?.form.get('code_verifier') ?? '';
    const { calculatePKCECodeChallenge } = await import('openid-client');
    expect(verifier.length).toBeGreaterThanOrEqual(43);
    expect(new URL(url).searchParams.get('code_challenge')).toBe(await calculatePKCECodeChallenge(verifier));
  });
});
