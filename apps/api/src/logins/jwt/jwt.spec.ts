import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { NS_PER_SECOND } from '@waybill/model';
import { CompactSign, createLocalJWKSet, exportJWK, SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Claims } from '../claims/exact-json.js';
import { checkAudience, checkIssuer, checkTimes, type Leeways } from './claim-checks.js';
import { publicKeys } from './public-keys.js';
import { allowedAlgorithms, MAX_TOKEN_BYTES, signedClaims, type VerificationKeys } from './signature.js';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const otherRsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pemOf = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();
const b64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

const signed = (key: KeyObject, alg: string, claims: object = { sub: 'a' }, header: object = {}): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg, ...header }).sign(key);
const statics = (...keys: KeyObject[]): VerificationKeys => ({ kind: 'static', keys: publicKeys(keys.map(pemOf)) });
const why = async (
  token: string,
  keys = statics(rsa.publicKey),
  algorithms: readonly string[] = ['RS256'],
): Promise<string> => {
  try {
    await signedClaims(token, keys, algorithms);
    return 'accepted';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

describe('signatures', () => {
  it('AU-73: any of several static keys may verify, and none of another kind or curve is tried', async () => {
    const keys = statics(ec.publicKey, otherRsa.publicKey, rsa.publicKey);
    expect(await signedClaims(await signed(rsa.privateKey, 'RS256'), keys, ['RS256'])).toEqual({ sub: 'a' });
    expect(await signedClaims(await signed(ec.privateKey, 'ES256'), keys, ['ES256'])).toEqual({ sub: 'a' });
    expect(await why(await signed(rsa.privateKey, 'RS256'), statics(otherRsa.publicKey, ec.publicKey))).toBe(
      'error verifying token signature: no known key successfully validated the token signature',
    );
  });

  it.each(['RS384', 'RS512', 'PS256', 'PS384', 'PS512'])('AU-75: %s verifies when it is allowed', async (alg) => {
    const token = await signed(rsa.privateKey, alg);
    expect(await why(token, undefined, [alg])).toBe('accepted');
    expect(await why(token)).toBe('invalid algorithm (alg) header parameter: token signed with unexpected algorithm');
  });

  it('AU-75: nothing given allows RS256 only, and a name that is no public-key algorithm allows nothing', () => {
    expect([allowedAlgorithms(null), allowedAlgorithms([])]).toEqual([['RS256'], ['RS256']]);
    expect(allowedAlgorithms(['HS256', 'none', 'ES256'])).toEqual(['ES256']);
  });

  it('AU-42: large integers stay what the signer wrote', async () => {
    const token = await signed(rsa.privateKey, 'RS256');
    const payload = Buffer.from('{"id":9007199254740993}').toString('base64url');
    const { sign } = await import('node:crypto');
    const input = `${token.split('.')[0]}.${payload}`;
    const whole = `${input}.${sign('sha256', Buffer.from(input), rsa.privateKey).toString('base64url')}`;
    expect(await signedClaims(whole, statics(rsa.publicKey), ['RS256'])).toEqual({ id: 9007199254740993n });
  });

  it('AU-74: alg none is refused, with and without a signature', async () => {
    for (const alg of ['none', 'None', 'nOnE', '']) {
      expect(await why(`${b64({ alg })}.${b64({ sub: 'a' })}.`), alg).toBe(
        'invalid algorithm (alg) header parameter: token must be signed',
      );
      expect(await why(`${b64({ alg })}.${b64({ sub: 'a' })}.AAAA`, undefined, ['RS256', 'none']), alg).toMatch(
        /^invalid algorithm \(alg\) header parameter: token /,
      );
    }
  });

  it('AU-74, AU-319: HS256 with the public key as secret is refused, whatever the method allows', async () => {
    const pem = pemOf(rsa.publicKey);
    const jwk = JSON.stringify(await exportJWK(rsa.publicKey));
    const der = rsa.publicKey.export({ type: 'spki', format: 'der' });
    for (const secret of [pem, pem.trim(), jwk, der]) {
      const input = `${b64({ alg: 'HS256', typ: 'JWT' })}.${b64({ sub: 'a' })}`;
      const token = `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
      expect(await why(token)).toMatch(/token signed with unexpected algorithm$/);
      expect(await why(token, undefined, allowedAlgorithms(['HS256', 'RS256']))).toMatch(/unexpected algorithm$/);
      expect(await why(token, undefined, ['HS256'])).toMatch(/^error verifying token signature: /);
    }
  });

  it('AU-74: several signatures, and any JSON form, are refused', async () => {
    const [protectedHeader, payload, signature] = (await signed(rsa.privateKey, 'RS256')).split('.');
    const signatures = [
      { protected: protectedHeader, signature },
      { protected: protectedHeader, signature },
    ];
    for (const token of [
      { payload, signatures },
      { payload, protected: protectedHeader, signature },
    ])
      expect(await why(JSON.stringify(token))).toBe(
        'invalid algorithm (alg) header parameter: token with multiple signatures not supported',
      );
  });

  it('AU-74: a key that the token brings itself is not looked at', async () => {
    const jwk = await exportJWK(otherRsa.publicKey);
    for (const header of [{ jwk }, { jku: 'http://127.0.0.1:1/keys' }, { x5u: 'http://127.0.0.1:1/' }])
      expect(await why(await signed(otherRsa.privateKey, 'RS256', {}, header))).toMatch(/no known key/);
  });

  it('AU-74: what is no signed JWT in compact form is an error and never an exception of another kind', async () => {
    const good = await signed(rsa.privateKey, 'RS256');
    const [header = '', payload = '', signature = ''] = good.split('.');
    const texts = [
      '',
      '.',
      '..',
      'a.b.c',
      `${header}.${payload}`,
      `${good}.x.y`,
      `${header}.${payload}.!!!`,
      `${header}.!!!.${signature}`,
      `${b64('text')}.${payload}.${signature}`,
      `${b64(null)}.${payload}.${signature}`,
      `${b64({ alg: 7 })}.${payload}.${signature}`,
      `${b64({ alg: 'RS256', crit: ['b64'], b64: false })}.${payload}.${signature}`,
      `${b64({ alg: 'RS256', crit: ['x'], x: 1 })}.${payload}.${signature}`,
      `${header}.${b64({ sub: 'b' })}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -4)}`,
      '\u0000\u0000',
      '💥.💥.💥',
    ];
    for (const text of texts)
      expect(await why(text), text).toMatch(/^(error verifying token signature|invalid algorithm)/);
  });

  it('extensions that a token says are critical are refused, though its signature is good', async () => {
    const token = await new CompactSign(Buffer.from('{"sub":"a"}'))
      .setProtectedHeader({ alg: 'RS256', b64: true, crit: ['b64'] })
      .sign(rsa.privateKey);
    expect(await why(token)).toBe('error verifying token signature: extensions (crit) are not supported');
  });

  it('a token inside a token, a payload that is no object, and one that is nested deeply are refused', async () => {
    const { sign } = await import('node:crypto');
    const over = (payload: string): string => {
      const input = `${b64({ alg: 'RS256' })}.${Buffer.from(payload).toString('base64url')}`;
      return `${input}.${sign('sha256', Buffer.from(input), rsa.privateKey).toString('base64url')}`;
    };
    const nested = await signed(rsa.privateKey, 'RS256');
    for (const payload of [nested, '', '[]', '"a"', 'null', '7', `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`])
      expect(await why(over(payload)), payload.slice(0, 20)).toMatch(
        /^error verifying token signature: the claims are /,
      );
    expect(await why(over('\xff'))).toMatch(/^error verifying token signature: /);
  });

  it('AU-317: a huge token is refused before anything of it is decoded', async () => {
    expect(await why(`${b64({ alg: 'RS256' })}.${'A'.repeat(MAX_TOKEN_BYTES)}.AAAA`)).toBe(
      `error verifying token signature: token longer than ${MAX_TOKEN_BYTES} bytes`,
    );
  });

  it('AU-73: a set is asked by the kid; without one, any key of the kind may verify', async () => {
    const jwks = [
      { ...(await exportJWK(otherRsa.publicKey)), kid: 'old' },
      { ...(await exportJWK(rsa.publicKey)), kid: 'new' },
      { ...(await exportJWK(ec.publicKey)), kid: 'ec' },
    ];
    const set: VerificationKeys = { kind: 'set', keyOf: createLocalJWKSet({ keys: jwks }) };
    expect(await why(await signed(rsa.privateKey, 'RS256', {}, { kid: 'new' }), set)).toBe('accepted');
    expect(await why(await signed(rsa.privateKey, 'RS256'), set)).toBe('accepted');
    expect(await why(await signed(rsa.privateKey, 'RS256', {}, { kid: 'old' }), set)).toMatch(
      /^error verifying token signature: /,
    );
    expect(await why(await signed(rsa.privateKey, 'RS256', {}, { kid: 'none' }), set)).toMatch(
      /^error verifying token signature: /,
    );
  });
});

describe('keys in PEM', () => {
  let privatePem = '';
  beforeAll(() => {
    privatePem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  });

  it('AU-105: one line is as good as many', () => {
    expect(publicKeys([pemOf(rsa.publicKey).replaceAll('\n', ' ')])[0]?.asymmetricKeyType).toBe('rsa');
    expect(publicKeys([pemOf(ec.publicKey).replaceAll('\n', '')])[0]?.asymmetricKeyType).toBe('ec');
  });

  it('1.2: others than RSA and EC public keys are refused, private keys too', () => {
    const ed = pemOf(generateKeyPairSync('ed25519').publicKey);
    expect(createPrivateKey(privatePem).type).toBe('private');
    for (const pem of ['', 'no key', ed, privatePem, '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'])
      expect(() => publicKeys([pem])).toThrow('data does not contain any valid RSA or ECDSA public keys');
  });
});

describe('times', () => {
  const NONE: Leeways = { ExpirationLeeway: 0, NotBeforeLeeway: 0, ClockSkewLeeway: 0 };
  const at1000 = (claims: Parameters<typeof checkTimes>[0], leeways: Partial<Leeways> = {}): string => {
    try {
      checkTimes(claims, { ...NONE, ...leeways }, 1_000_000);
      return 'ok';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const expired = 'invalid expiration time (exp) claim: token is expired';
  const early = 'invalid not before (nbf) claim: token not yet valid';
  const future = 'invalid issued at (iat) claim: token issued in the future';
  const NO = -1;
  const s = (seconds: number): number => seconds * NS_PER_SECOND;

  it.each([
    [{ exp: 939 }, {}, expired],
    [{ exp: 941 }, {}, 'ok'],
    [{ nbf: 1059 }, {}, 'ok'],
    [{ nbf: 1061 }, {}, early],
    [{ iat: 800 }, {}, 'ok'],
    [{ iat: 780 }, {}, expired],
    [{ exp: 999 }, { ClockSkewLeeway: NO }, expired],
    [{ exp: 1000 }, { ClockSkewLeeway: NO }, 'ok'],
    [{ exp: 995 }, { ClockSkewLeeway: s(10) }, 'ok'],
    [{ exp: 985 }, { ClockSkewLeeway: s(10) }, expired],
    [{ iat: 1059, exp: 2000, nbf: 1 }, {}, 'ok'],
    [{ iat: 1061, exp: 2000, nbf: 1 }, {}, future],
    // Without exp: the later of the two, and the leeway.
    [{ iat: 500, nbf: 795 }, {}, 'ok'],
    [{ iat: 500, nbf: 780 }, {}, expired],
    [{ iat: 500 }, { ExpirationLeeway: s(500) }, 'ok'],
    [{ iat: 930 }, { ExpirationLeeway: NO }, expired],
    [{ iat: 941 }, { ExpirationLeeway: NO }, 'ok'],
    // Without nbf: iat, or else exp less the leeway.
    [{ iat: 1061, exp: 2000 }, {}, early],
    [{ exp: 1209 }, {}, 'ok'],
    [{ exp: 1211 }, {}, early],
    [{ exp: 1211 }, { NotBeforeLeeway: s(300) }, 'ok'],
    [{ exp: 1061 }, { NotBeforeLeeway: NO }, early],
    [{}, {}, 'no issued at (iat), not before (nbf), or expiration time (exp) claims in token'],
    [{ exp: 0 }, {}, 'no issued at (iat), not before (nbf), or expiration time (exp) claims in token'],
    [{ exp: '2000' }, {}, 'invalid exp claim: no number'],
    [{ exp: 2000, nbf: [1] }, {}, 'invalid nbf claim: no number'],
    [{ exp: 99999999999999999999n }, {}, early],
  ])('AU-80, AU-81, AU-82: %o with %o at 1000 s: %s', (claims, leeways, text) => {
    expect(at1000(claims, leeways)).toBe(text);
  });
});

describe('audience and issuer', () => {
  const refused = 'invalid audience (aud) claim: audience claim does not match any expected audience';

  it('AU-76: one of the bound audiences must be among those of the token; none bound: any', () => {
    for (const bound of [null, []]) expect(() => checkAudience({}, bound)).not.toThrow();
    for (const aud of ['waybill', ['x', 'waybill']])
      expect(() => checkAudience({ aud }, ['a', 'waybill'])).not.toThrow();
    for (const aud of ['x', ['x'], [], null, 'Waybill', 'waybill '])
      expect(() => checkAudience({ aud }, ['waybill'])).toThrow(refused);
    expect(() => checkAudience({}, ['waybill'])).toThrow(refused);
    for (const aud of [7, ['waybill', 7], { waybill: true }])
      expect(() => checkAudience({ aud }, ['waybill'])).toThrow('no text');
  });

  it('AU-77: one of the bound issuers; none bound: any', () => {
    expect(() => checkIssuer({}, null)).not.toThrow();
    expect(() => checkIssuer({ iss: 'b' }, ['a', 'b'])).not.toThrow();
    expect(() => checkIssuer({ iss: 'c' }, ['a'])).toThrow('invalid JWT issuer: c');
    for (const claims of [{}, { iss: null }, { iss: '' }] as Claims[])
      expect(() => checkIssuer(claims, ['a'])).toThrow('the provided token does not contain issuer information');
    expect(() => checkIssuer({ iss: ['a'] }, ['a'])).toThrow('unable to read iss property of provided token');
  });
});
