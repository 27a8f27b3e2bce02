import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { FakeTime } from '@waybill/model';
import { exportJWK, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OutsideFetch } from '../outside-calls.transport.js';
import { type KeyConfig, KeySources, KEYS_FOR_MS, KEYS_PAUSE_MS, METADATA_FOR_MS } from './key-sources.js';
import { signedClaims } from './signature.js';

const ISSUER = 'https://idp.example';
const first = generateKeyPairSync('rsa', { modulusLength: 2048 });
const second = generateKeyPairSync('rsa', { modulusLength: 2048 });
const config = (over: Partial<KeyConfig>): KeyConfig => ({
  JWTValidationPubKeys: null,
  JWKSURL: '',
  JWKSCACert: '',
  OIDCDiscoveryURL: '',
  DiscoveryCaPem: null,
  ...over,
});
const byUrl = config({ JWKSURL: `${ISSUER}/keys` });
const tokenBy = (key: KeyObject, kid: string): Promise<string> =>
  new SignJWT({ sub: 'a' }).setProtectedHeader({ alg: 'RS256', kid }).sign(key);

/** A provider whose keys change, which counts what it is asked, and with whose authorities. */
class Provider {
  keys: Readonly<Record<string, KeyObject>> = { first: first.publicKey };
  isDown = false;
  readonly asked: string[] = [];
  readonly time = new FakeTime();
  readonly sources: KeySources;

  constructor() {
    const fetchWith =
      (authorities: readonly string[]): OutsideFetch =>
      async (url) => {
        this.asked.push([new URL(url).pathname, ...authorities].join(' '));
        if (this.isDown) throw new Error('connect ECONNREFUSED');
        return url.endsWith('openid-configuration') ? this.metadata() : this.set();
      };
    const metrics = { histogram: () => ({ observe: () => {} }) as never };
    this.sources = new KeySources({ clock: this.time, fetchWith, metrics });
  }

  async verify(key: KeyObject, kid: string, from: KeyConfig = byUrl): Promise<string> {
    try {
      await signedClaims(await tokenBy(key, kid), await this.sources.of(from), ['RS256']);
      return 'verified';
    } catch (error) {
      return (error as Error).message;
    }
  }

  private metadata(): Response {
    return Response.json({ issuer: ISSUER, jwks_uri: `${ISSUER}/keys` });
  }

  private async set(): Promise<Response> {
    const keys = Object.entries(this.keys).map(async ([kid, key]) => ({ ...(await exportJWK(key)), kid }));
    return Response.json({ keys: await Promise.all(keys) });
  }
}

describe('keys of providers', () => {
  let provider: Provider;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 });
    provider = new Provider();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  /** The library that keeps key sets asks for the date itself. */
  const pass = (ms: number): void => {
    provider.time.freeze(ms);
    vi.setSystemTime(Date.now() + ms);
  };

  it('AU-72: static keys go before a set, and a set before discovery', async () => {
    const pem = second.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const all = config({ JWTValidationPubKeys: [pem], JWKSURL: `${ISSUER}/keys`, OIDCDiscoveryURL: ISSUER });
    expect(await provider.verify(second.privateKey, 'any', all)).toBe('verified');
    expect(provider.asked).toEqual([]);
    expect(await provider.verify(first.privateKey, 'first', { ...all, JWTValidationPubKeys: [] })).toBe('verified');
    expect(provider.asked).toEqual(['/keys']);
  });

  it('AU-73: by discovery, metadata first; each with the authorities of its own', async () => {
    const discovery = config({ OIDCDiscoveryURL: ISSUER, DiscoveryCaPem: ['ca-1'], JWKSCACert: 'ca-2' });
    expect(await provider.verify(first.privateKey, 'first', discovery)).toBe('verified');
    await provider.verify(first.privateKey, 'first', { ...byUrl, JWKSCACert: 'ca-2' });
    expect(provider.asked).toEqual(['/.well-known/openid-configuration ca-1', '/keys ca-1', '/keys ca-2']);
  });

  it('AU-318: a hundred logins at once make one fetch', async () => {
    const verdicts = await Promise.all(
      Array.from({ length: 100 }, () =>
        provider.verify(first.privateKey, 'first', config({ OIDCDiscoveryURL: ISSUER })),
      ),
    );
    expect(new Set(verdicts)).toEqual(new Set(['verified']));
    expect(provider.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
  });

  it('AU-73: a key that the set does not have fetches it once more, at most once in a while', async () => {
    await provider.verify(first.privateKey, 'first');
    provider.keys = { second: second.publicKey };
    pass(KEYS_PAUSE_MS + 1);
    expect(await provider.verify(second.privateKey, 'second')).toBe('verified');
    expect(provider.asked).toHaveLength(2);
    for (let n = 0; n < 10; n++)
      expect(await provider.verify(second.privateKey, `made-up-${n}`)).toMatch(/^error verifying token signature: /);
    expect(provider.asked).toHaveLength(2);
    pass(KEYS_PAUSE_MS + 1);
    await provider.verify(second.privateKey, 'made-up');
    expect(provider.asked).toHaveLength(3);
  });

  it('a key that the provider has taken back counts no longer than its set is kept', async () => {
    expect(await provider.verify(first.privateKey, 'first')).toBe('verified');
    provider.keys = { second: second.publicKey };
    pass(KEYS_FOR_MS + 1);
    expect(await provider.verify(first.privateKey, 'first')).toMatch(/^error verifying token signature: /);
  });

  it('AU-106, AU-318: what cannot be fetched fails the login, is not kept, and lets nobody pass', async () => {
    const discovery = config({ OIDCDiscoveryURL: ISSUER });
    provider.isDown = true;
    expect(await provider.verify(first.privateKey, 'first')).toContain('ECONNREFUSED');
    expect(await provider.verify(first.privateKey, 'first', discovery)).toContain('ECONNREFUSED');
    provider.isDown = false;
    expect(await provider.verify(first.privateKey, 'first')).toBe('verified');
    expect(await provider.verify(first.privateKey, 'first', discovery)).toBe('verified');
    provider.isDown = true;
    pass(KEYS_FOR_MS + 1);
    expect(await provider.verify(first.privateKey, 'first')).toContain('ECONNREFUSED');
  });

  it('AU-106: metadata counts for six hours', async () => {
    const ask = () => provider.sources.metadataOf(ISSUER, []);
    await ask();
    pass(METADATA_FOR_MS - 1);
    await ask();
    expect(provider.asked).toHaveLength(1);
    pass(1);
    await ask();
    expect(provider.asked).toHaveLength(2);
  });
});
