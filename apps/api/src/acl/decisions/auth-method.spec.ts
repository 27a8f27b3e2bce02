import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { type AuthMethod, encodeAuthMethod, NS_PER_HOUR, NS_PER_MINUTE } from '@waybill/model';
import { archiveLines, eventsOf, fixtures, objectChanges } from '@waybill/state';
import { beforeAll, describe, expect, it } from 'vitest';
import { type GivenAuthMethod, type GivenMethodConfig, readAuthMethod } from '../auth-method-request.js';
import { MethodSecrets } from '../method-secrets.js';
import { rsaCertificate } from '../rsa-certificate.fixture.js';
import { LoginHosts } from '../login-hosts.js';
import { type AuthMethodContext, authMethodWrite } from './auth-method.js';

const { aMachine, aMethodConfig, anAuthMethod, apply } = fixtures;

const NOW_MS = Date.parse('2026-01-01T00:00:00.000Z');
const SECRETS = new MethodSecrets(Buffer.alloc(32, 1));
const CLIENT_SECRET = 'a client secret that is long enough';

function context(over: Partial<AuthMethodContext> = {}): AuthMethodContext {
  return {
    pathName: undefined,
    stored: undefined,
    defaultName: undefined,
    files: new Map(),
    clusterKeyProblem: undefined,
    secrets: SECRETS,
    limits: { minTtlNs: NS_PER_MINUTE, maxTtlNs: 24 * NS_PER_HOUR },
    loginHosts: new LoginHosts([]),
    nowMs: NOW_MS,
    ...over,
  };
}

/** As a client sends it. */
const given = (method: object): GivenAuthMethod => readAuthMethod(Buffer.from(JSON.stringify(method)));

const OIDC_CONFIG = {
  OIDCDiscoveryURL: 'https://login.example.org',
  OIDCClientID: 'waybill',
  OIDCClientSecret: CLIENT_SECRET,
  AllowedRedirectURIs: ['http://localhost:4649/oidc/callback'],
};
const OIDC = { Name: 'people', Type: 'OIDC', TokenLocality: 'local', MaxTokenTTL: '1h', Config: OIDC_CONFIG };
const JWT = { ...OIDC, Name: 'ci', Type: 'JWT', Config: { JWKSURL: 'https://ci.example.org/keys' } };

const written = (method: object, over: Partial<AuthMethodContext> = {}) =>
  authMethodWrite(given(method), context(over)).payload.AuthMethod;
/** A method as it is stored once it was written. */
const stored = (method: object, over: Partial<AuthMethodContext> = {}): AuthMethod =>
  anAuthMethod({ ...written(method, over), CreateTime: '2025-01-01T00:00:00.000Z' });

function refusal(method: object, over: Partial<AuthMethodContext> = {}): string {
  try {
    written(method, over);
    return 'it was taken';
  } catch (error) {
    return (error as Error).message;
  }
}
const frame = (...problems: string[]): string => {
  const title = problems.length === 1 ? '1 error occurred:' : `${problems.length} errors occurred:`;
  return `auth method 0 invalid: ${title}${problems.map((problem) => `\n\t* ${problem}`).join('')}\n\n`;
};
const oidc = (config: Partial<GivenMethodConfig> | object) => ({ ...OIDC, Config: { ...OIDC_CONFIG, ...config } });
const jwt = (config: object) => ({ ...JWT, Config: { ...JWT.Config, ...config } });
const assertion = (OIDCClientAssertion: object, config: object = {}) => oidc({ OIDCClientAssertion, ...config });

describe('AU-11: what is wrong with a method is said in one order', () => {
  it('of all of it', () => {
    const wrong = { Name: 'a b', Type: 'oidc', TokenLocality: '', MaxTokenTTL: '48h' };
    expect(refusal(wrong)).toBe(
      frame(
        "invalid name 'a b'",
        "invalid token locality ''",
        "invalid token type 'oidc'",
        'invalid config: missing auth method Config',
        "invalid MaxTokenTTL value '48h0m0s' (should be between 1m0s and 24h0m0s)",
      ),
    );
  });

  it.each<[object, string]>([
    [{ ...OIDC, Name: 'x'.repeat(129) }, `invalid name '${'x'.repeat(129)}'`],
    [{ ...OIDC, TokenLocality: 'Local' }, "invalid token locality 'Local'"],
    [
      { ...OIDC, MaxTokenTTL: 59_999_999_999 },
      "invalid MaxTokenTTL value '59.999999999s' (should be between 1m0s and 24h0m0s)",
    ],
    [{ ...OIDC, MaxTokenTTL: '' }, "invalid MaxTokenTTL value '0s' (should be between 1m0s and 24h0m0s)"],
    [{ ...OIDC, TokenNameFormat: 'x'.repeat(1_025) }, 'TokenNameFormat must be at most 1024 bytes, currently 1025'],
  ])('%#', (method, problem) => {
    expect(refusal(method)).toBe(frame(problem));
  });

  it('AU-19: the life is read as text or as nanoseconds, and nothing else', () => {
    expect(written({ ...JWT, MaxTokenTTL: 90e9 }).MaxTokenTTL).toBe(90e9);
    expect(written({ ...JWT, MaxTokenTTL: '1m30s' }).MaxTokenTTL).toBe(90e9);
    expect(refusal({ ...JWT, MaxTokenTTL: 'soon' })).toBe('time: invalid duration "soon"');
  });
});

describe('AU-12, AU-13: configurations', () => {
  it.each<[object, string]>([
    [oidc({ OIDCDiscoveryURL: '' }), 'missing OIDCDiscoveryURL'],
    [oidc({ OIDCClientID: '' }), 'missing OIDCClientID'],
    [
      oidc({ OIDCDiscoveryURL: '', OIDCClientID: '' }),
      '2 errors occurred:\n\t* missing OIDCDiscoveryURL\n\t* missing OIDCClientID\n\n',
    ],
    [
      jwt({ JWKSURL: '' }),
      'JWT auth method requires either OIDCDiscoveryURL, or JWKS URL, or JWTValidationPubKeys set',
    ],
    [
      jwt({ JWTValidationPubKeys: ['no key'] }),
      'unable to parse public key for JWT auth: data does not contain any valid RSA or ECDSA public keys',
    ],
    [oidc({ DiscoveryCaPem: ['no certificate'] }), 'invalid CA certificate'],
    [jwt({ JWKSCACert: 'no certificate' }), 'invalid CA certificate'],
    [jwt({ SigningAlgs: ['RS256', 'HS256'] }), 'unsupported signing algorithm "HS256"'],
    [jwt({ SigningAlgs: ['none'] }), 'unsupported signing algorithm "none"'],
    [
      jwt({ JWKSURL: 'ftp://keys.example.org' }),
      'invalid JWKSURL "ftp://keys.example.org": it must be an absolute http or https URL',
    ],
    [
      oidc({ OIDCDiscoveryURL: '/login' }),
      'invalid OIDCDiscoveryURL "/login": it must be an absolute http or https URL',
    ],
    [oidc({ AllowedRedirectURIs: ['http://[::1'] }), 'invalid redirect URI "http://[::1"'],
    [jwt({ BoundAudiences: Array.from({ length: 257 }, () => 'a') }), 'BoundAudiences has more than 256 entries'],
    [jwt({ ClaimMappings: { a: 'x'.repeat(4_097) } }), 'ClaimMappings has a text longer than 4096 bytes'],
    [jwt({ ListClaimMappings: { ['x'.repeat(4_097)]: 'a' } }), 'ListClaimMappings has a text longer than 4096 bytes'],
    [oidc({ OIDCClientSecret: 'x'.repeat(4_097) }), 'OIDCClientSecret must be at most 4096 bytes, currently 4097'],
    [jwt({ BoundIssuer: Array.from({ length: 100 }, () => 'x'.repeat(4_000)) }), 'it is larger than 262144 bytes'],
  ])('%#', (method, problem) => {
    expect(refusal(method)).toBe(frame(`invalid config: ${problem}`));
  });

  it('AU-13: every algorithm of section 1.2 is taken, and a negative leeway (AU-81)', () => {
    const SigningAlgs = 'RS256 RS384 RS512 ES256 ES384 ES512 PS256 PS384 PS512 EdDSA'.split(' ');
    const { Config } = written(
      jwt({ SigningAlgs, ExpirationLeeway: '-1s', ClockSkewLeeway: 5e9, NotBeforeLeeway: '' }),
    );
    expect(Config).toMatchObject({ SigningAlgs, ExpirationLeeway: -1e9, ClockSkewLeeway: 5e9, NotBeforeLeeway: 0 });
  });

  it('AU-13: keys, certificates and redirect URIs of native programs are taken', async () => {
    const { certificate, key } = await rsaCertificate(new Date(0), new Date('2100-01-01'));
    const publicKey = String(createPublicKey(key).export({ type: 'spki', format: 'pem' }));
    const keys = {
      JWTValidationPubKeys: [publicKey, certificate],
      JWKSCACert: certificate,
      DiscoveryCaPem: [certificate],
    };
    expect(written(jwt({ ...keys, AllowedRedirectURIs: ['org.example.app:/callback'] })).Config).toMatchObject(keys);
  });
});

describe('AU-14 to AU-16: client assertions', () => {
  const key = { PemKeyFile: '/keys/key.pem', KeyID: 'k1' };
  const wrongKey = (PrivateKey: object) => assertion({ KeySource: 'private_key', PrivateKey });

  it.each<[object, string]>([
    [assertion({ KeySource: 'client_secret', Audience: [''] }), 'missing Audience'],
    [assertion({ KeySource: 'private_key' }), 'PrivateKey is required for `private_key` KeySource'],
    [wrongKey({ KeyID: 'k1' }), 'invalid PrivateKey: missing PemKey or PemKeyFile'],
    [wrongKey({ ...key, PemKey: 'a' }), 'invalid PrivateKey: require only one of PemKey or PemKeyFile'],
    [
      wrongKey({ ...key, PemKeyFile: 'key.pem' }),
      'invalid PrivateKey: invalid PemKeyFile: must be absolute; got: key.pem',
    ],
    [wrongKey({ ...key, KeyID: '' }), 'invalid PrivateKey: missing PemCert, PemCertFile, or KeyID'],
    [wrongKey({ ...key, PemCert: 'a' }), 'invalid PrivateKey: require only one of PemCert, PemCertFile, or KeyID'],
    [
      wrongKey({ ...key, KeyID: '', PemCertFile: 'a.pem' }),
      'invalid PrivateKey: invalid PemCertFile: must be absolute; got: a.pem',
    ],
    [
      wrongKey({ ...key, KeyIDHeader: 'x5t' }),
      'invalid PrivateKey: invalid KeyIDHeader; key header for key ID must be "kid"',
    ],
    [
      wrongKey({ ...key, KeyID: '', PemCert: 'a', KeyIDHeader: 'kid' }),
      'invalid PrivateKey: invalid KeyIDHeader; certificate-derived key header must be one of: "x5t#S256", "x5t"',
    ],
    [
      assertion({ KeySource: 'client_secret' }, { OIDCClientSecret: '' }),
      'OIDCClientSecret is required for `client_secret` KeySource',
    ],
    [assertion({ KeySource: 'vault' }), 'invalid KeySource "vault"'],
    [assertion({}), 'invalid KeySource ""'],
  ])('AU-14: %#', (method, problem) => {
    expect(refusal(method)).toBe(frame(`invalid config: invalid client assertion config: ${problem}`));
  });

  it('AU-16: HMAC needs a secret as long as its hash, and an algorithm of its own', () => {
    const sign = (KeyAlgorithm: string, bytes: number) =>
      assertion({ KeySource: 'client_secret', KeyAlgorithm }, { OIDCClientSecret: 'x'.repeat(bytes) });
    for (const [algorithm, bytes] of [
      ['HS256', 32],
      ['HS384', 48],
      ['HS512', 64],
    ] as const) {
      expect(written(sign(algorithm, bytes)).Config.OIDCClientAssertion?.KeyAlgorithm).toBe(algorithm);
      expect(refusal(sign(algorithm, bytes - 1))).toBe(
        `invalid OIDCClientAssertion: OIDCClientSecret is too short for ${algorithm}: it needs at least ${bytes} bytes`,
      );
    }
    for (const algorithm of ['RS256', 'constructor', 'none'])
      expect(refusal(sign(algorithm, 64))).toBe(
        `invalid OIDCClientAssertion: unsupported KeyAlgorithm "${algorithm}": use HS256, HS384, HS512`,
      );
  });

  it("AU-14, AU-16: the cluster's own key signs with RS256, if there is one", () => {
    const { Config } = written(assertion({ KeySource: 'nomad', KeyAlgorithm: 'HS256' }, { OIDCClientSecret: '' }));
    expect(Config.OIDCClientAssertion).toMatchObject({
      KeySource: 'nomad',
      KeyAlgorithm: 'RS256',
      Audience: ['https://login.example.org'],
      PrivateKey: null,
    });
    const clusterKeyProblem = 'keyring is not ready';
    expect(refusal(assertion({ KeySource: 'nomad' }), { clusterKeyProblem })).toBe(
      'invalid OIDCClientAssertion: keyring is not ready',
    );
    expect(refusal(assertion({ KeySource: 'client_secret' }), { clusterKeyProblem })).toBe('it was taken');
  });

  describe('with a private key', () => {
    let pair: { certificate: string; key: string };
    let other: { certificate: string; key: string };
    beforeAll(async () => {
      const [before, after] = [new Date(NOW_MS - 1_000), new Date(NOW_MS + 60_000)];
      [pair, other] = await Promise.all([rsaCertificate(before, after), rsaCertificate(before, after)]);
    });
    const misfit = (PrivateKey: object, over: Partial<AuthMethodContext> = {}, KeyAlgorithm = '') =>
      refusal(assertion({ KeySource: 'private_key', KeyAlgorithm, PrivateKey }), over);

    it('AU-15: the header of a key ID is kid, that of a certificate its hash; Audience and algorithm have defaults', () => {
      const config = written(
        assertion({ KeySource: 'private_key', PrivateKey: { PemKey: pair.key, KeyID: 'k1' } }),
      ).Config;
      expect(config.OIDCClientAssertion).toMatchObject({
        Audience: ['https://login.example.org'],
        KeyAlgorithm: 'RS256',
        PrivateKey: { KeyID: 'k1', KeyIDHeader: 'kid', PemKeyFile: '' },
      });
      expect(JSON.stringify(config)).not.toContain(pair.key.split('\n')[1]);
      expect(SECRETS.open('PemKey', 'people', config.OIDCClientAssertion?.PrivateKey?.SealedPemKey ?? '')).toBe(
        pair.key,
      );
      const PrivateKey = { PemKey: pair.key, PemCert: pair.certificate };
      const signed = written(assertion({ KeySource: 'private_key', PrivateKey })).Config;
      expect(signed.OIDCClientAssertion?.PrivateKey?.KeyIDHeader).toBe('x5t#S256');
    });

    it('AU-16: key, certificate and algorithm fit', () => {
      const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const ecKey = String(ec.export({ type: 'pkcs8', format: 'pem' }));
      const invalid = (why: string) => `invalid OIDCClientAssertion: ${why}`;
      const noRsa = invalid('the private key is no RSA key in PEM without a password');
      const PemKey = pair.key;
      expect(misfit({ PemKey: 'no key', KeyID: 'k1' })).toBe(noRsa);
      expect(misfit({ PemKey: ecKey, KeyID: 'k1' })).toBe(noRsa);
      expect(misfit({ PemKey, KeyID: 'k1' }, {}, 'HS256')).toBe(
        invalid('unsupported KeyAlgorithm "HS256": use RS256, RS384, RS512'),
      );
      expect(misfit({ PemKey, PemCert: 'none' })).toBe(invalid('there is no certificate in PEM'));
      expect(misfit({ PemKey, PemCert: other.certificate })).toBe(
        invalid('the private key is not the key of the certificate'),
      );
      const ended = invalid('certificate has expired or is not yet valid');
      const PemCert = pair.certificate;
      expect(misfit({ PemKey, PemCert }, { nowMs: NOW_MS + 61_000 })).toBe(ended);
      expect(misfit({ PemKey, PemCert }, { nowMs: NOW_MS - 2_000 })).toBe(ended);
      expect(misfit({ PemKey, PemCert })).toBe('it was taken');
    });

    it('AU-16: files are read as this server has them', () => {
      const PrivateKey = { PemKeyFile: '/keys/key.pem', PemCertFile: '/keys/certificate.pem' };
      const files = new Map<string, { text: string } | { problem: string }>([['/keys/key.pem', { problem: 'ENOENT' }]]);
      expect(misfit(PrivateKey, { files })).toBe(
        'invalid OIDCClientAssertion: cannot read PemKeyFile /keys/key.pem: ENOENT',
      );
      files.set('/keys/key.pem', { text: pair.key }).set('/keys/certificate.pem', { problem: 'EACCES' });
      expect(misfit(PrivateKey, { files })).toBe(
        'invalid OIDCClientAssertion: cannot read PemCertFile /keys/certificate.pem: EACCES',
      );
      files.set('/keys/certificate.pem', { text: pair.certificate });
      const config = written(assertion({ KeySource: 'private_key', PrivateKey }), { files }).Config;
      expect(config.OIDCClientAssertion?.PrivateKey).toMatchObject({ ...PrivateKey, SealedPemKey: '' });
    });

    it('AU-26: redacted keeps the key that is stored, and it must still fit', () => {
      const PrivateKey = { PemKey: pair.key, KeyID: 'k1' };
      const before = stored(assertion({ KeySource: 'private_key', PrivateKey }));
      const again = (over: object) =>
        assertion({ KeySource: 'private_key', PrivateKey: { PemKey: 'redacted', ...over } });
      expect(written(again({ KeyID: 'k2' }), { stored: before }).Config.OIDCClientAssertion?.PrivateKey).toEqual({
        ...before.Config.OIDCClientAssertion?.PrivateKey,
        KeyID: 'k2',
      });
      expect(refusal(again({ PemCert: other.certificate }), { stored: before })).toBe(
        'invalid OIDCClientAssertion: the private key is not the key of the certificate',
      );
      expect(refusal(again({ KeyID: 'k2' }))).toBe(frame('secret is a placeholder'));
    });
  });
});

describe('a write to a name that exists', () => {
  it('AU-17: keeps what it leaves out, but for Default', () => {
    const before = stored({ ...OIDC, Default: true, TokenNameFormat: '${value.mail}' });
    expect(written({ Name: 'people' }, { stored: before })).toEqual({
      Name: 'people',
      Type: 'OIDC',
      TokenLocality: 'local',
      TokenNameFormat: '${value.mail}',
      MaxTokenTTL: NS_PER_HOUR,
      Default: false,
      Config: before.Config,
      ModifyTime: '2026-01-01T00:00:00.000Z',
    });
    const Config = { OIDCDiscoveryURL: 'https://other.example.org', OIDCClientID: 'other' };
    expect(written({ Name: 'people', Config }, { stored: before }).Config).toEqual(
      aMethodConfig({ JWKSURL: '', ...Config }),
    );
  });

  it('AU-12, AU-17: another type must fit the configuration that is kept', () => {
    expect(refusal({ Name: 'ci', Type: 'OIDC' }, { stored: stored(JWT) })).toContain('missing OIDCDiscoveryURL');
  });

  it('AU-18: the name of the path and that of the body are one', () => {
    const mismatch = 'ACL auth-method name does not match request path';
    expect(refusal(OIDC, { pathName: 'other' })).toBe(mismatch);
    expect(refusal({ ...OIDC, Name: '' }, { pathName: 'people' })).toBe(mismatch);
    expect(written(OIDC, { pathName: 'people' }).Name).toBe('people');
  });

  it('AU-20: no two methods are the default; the default may be written again', () => {
    const method = { ...OIDC, Default: true };
    expect(refusal(method, { defaultName: 'ci' })).toBe('default method already exists: ci');
    expect(written(method, { defaultName: 'people' }).Default).toBe(true);
    expect(written(OIDC, { defaultName: 'ci' }).Default).toBe(false);
  });
});

describe('secrets', () => {
  const [machine, decision] = [aMachine(), authMethodWrite(given(OIDC), context())];
  const applied = apply(machine, decision.type, decision.payload);

  it('AU-24: the transaction, its event, the archive and the history hold no client secret in clear', () => {
    expect(applied.verdict.kind).toBe('accepted');
    const archive = Array.from(archiveLines(machine.tables), (line) => JSON.stringify(line)).join('\n');
    const texts = [decision, applied.changes, eventsOf(applied), objectChanges(applied)].map((held) =>
      JSON.stringify(held),
    );
    for (const text of [...texts, archive]) expect(text).not.toContain(CLIENT_SECRET);
    expect(archive).toContain('https://login.example.org');
    const sealed = machine.tables.acl_auth_methods.get('people')?.Config.SealedClientSecret ?? '';
    expect(SECRETS.open('OIDCClientSecret', 'people', sealed)).toBe(CLIENT_SECRET);
  });

  it('AU-21: the same method written again is known as the same, secret and all', () => {
    const again = authMethodWrite(given(OIDC), context({ nowMs: NOW_MS + 1 }));
    expect(apply(machine, again.type, again.payload).verdict.kind).toBe('noop');
  });

  it('AU-26: a method that is read, changed and sent back keeps its secret', () => {
    const before = machine.tables.acl_auth_methods.get('people');
    const read = encodeAuthMethod(before!);
    expect(read).toMatchObject({ Config: { OIDCClientSecret: 'redacted' }, MaxTokenTTL: '1h0m0s' });
    const after = written({ ...read, MaxTokenTTL: '2h' }, { stored: before });
    expect(after).toMatchObject({ MaxTokenTTL: 2 * NS_PER_HOUR, Config: before?.Config });
    expect(before).toMatchObject({ MaxTokenTTL: NS_PER_HOUR });
  });

  it('AU-26: redacted is no secret of a method that has none; an empty one takes the secret away', () => {
    const placeholder = oidc({ OIDCClientSecret: 'redacted' });
    expect(refusal(placeholder)).toBe(frame('secret is a placeholder'));
    const without = stored(oidc({ OIDCClientSecret: '' }));
    expect(without.Config.SealedClientSecret).toBe('');
    expect(refusal(placeholder, { stored: without })).toBe(frame('secret is a placeholder'));
  });
});

it('AU-108: a method whose provider or key set is at a host that logins may not call is refused', () => {
  const loginHosts = new LoginHosts(['login.example.org']);
  expect(written(OIDC, { loginHosts }).Config.OIDCDiscoveryURL).toBe('https://login.example.org');
  expect(() => written(JWT, { loginHosts })).toThrow(
    'invalid JWKSURL "https://ci.example.org/keys": logins may not call that host (WAYBILL_ACL_LOGIN_ALLOWED_HOSTS)',
  );
  const inner = { ...OIDC, Config: { ...OIDC_CONFIG, OIDCDiscoveryURL: 'http://169.254.169.254' } };
  expect(() => written(inner, { loginHosts })).toThrow('logins may not call that host');
});
