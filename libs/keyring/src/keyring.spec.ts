import type { RootKey } from '@waybill/model';
import { createHmac, randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TokenRefusedError } from './identity-tokens.js';
import { KeyServiceError } from './key-service-error.js';
import { AeadWrapper, type KeyWrapper } from './key-wrapper.js';
import { Keyring, KeyringError } from './keyring.js';
import { newRootKey } from './root-key-material.js';

const NOW_S = 1_760_000_000;
const OWNER = { Namespace: 'default', Path: 'app/db' };
const ITEMS = { user: 'app', password: 'hunter2', 'with "quotes"': '€' };

const wrapper = new AeadWrapper(randomBytes(32));
const failures: string[] = [];
let made: RootKey[];
let rows: RootKey[];
let keyring: Keyring;

const row = async (KeyID: string, over: Partial<RootKey> = {}): Promise<RootKey> => ({
  ...(await newRootKey(wrapper, { KeyID, State: 'active', CreateTime: 1, PublishTime: 0 })),
  CreateIndex: 1,
  ModifyIndex: 1,
  ...over,
});

const ringOf = (given: KeyWrapper | undefined, formerWrapper?: KeyWrapper): Keyring =>
  new Keyring({
    wrapper: given,
    formerWrapper,
    keys: {
      find: (id) => rows.find(({ KeyID }) => KeyID === id),
      active: () => rows.find(({ State }) => State === 'active'),
      all: () => rows,
    },
    nowMs: () => NOW_S * 1_000,
    onUnusable: (keyId) => failures.push(keyId),
  });

beforeAll(async () => {
  made = await Promise.all([row('one'), row('two', { State: 'inactive', CreateTime: 2 })]);
});

beforeEach(() => {
  rows = [...made];
  failures.length = 0;
  keyring = ringOf(wrapper);
});

describe('items', () => {
  it('OP-204: are sealed under the active key with a fresh nonce, and nothing of them is readable', async () => {
    const sealed = await keyring.sealItems(OWNER, ITEMS);
    expect(sealed.KeyID).toBe('one');
    expect(Buffer.from(sealed.Data, 'base64').toString('latin1')).not.toContain('hunter2');
    expect((await keyring.sealItems(OWNER, ITEMS)).Data).not.toBe(sealed.Data);
    expect(await keyring.openItems(OWNER, sealed)).toEqual(ITEMS);
  });

  it('OP-204, OP-206: do not open for another variable, under another key, or changed; the error names the key', async () => {
    const sealed = await keyring.sealItems(OWNER, ITEMS);
    const bytes = Buffer.from(sealed.Data, 'base64');
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    const hopeless = [
      keyring.openItems({ ...OWNER, Path: 'app/other' }, sealed),
      keyring.openItems({ ...OWNER, Namespace: 'other' }, sealed),
      keyring.openItems(OWNER, { ...sealed, Data: bytes.toString('base64') }),
      keyring.openItems(OWNER, { ...sealed, Data: '' }),
    ];
    for (const opening of hopeless) await expect(opening).rejects.toThrow('cannot be decrypted with root key one');
    await expect(keyring.openItems(OWNER, { ...sealed, KeyID: 'two' })).rejects.toThrow('root key two');
    await expect(keyring.openItems(OWNER, { ...sealed, KeyID: 'gone' })).rejects.toThrow('root key gone not found');
  });

  it('AU-185: a key that is deleted opens nothing more, although it was unwrapped', async () => {
    const sealed = await keyring.sealItems(OWNER, ITEMS);
    rows = made.slice(1);
    await expect(keyring.openItems(OWNER, sealed)).rejects.toThrow('root key one not found');
  });
});

describe('keys', () => {
  it('OP-210: nothing private is stored in the clear', () => {
    const stored = JSON.stringify(made);
    expect(stored).not.toMatch(/PRIVATE|AES256|"d"/);
  });

  it('OP-216: without a wrapping key, or without an active key, everything says that it waits for keys', async () => {
    const off = ringOf(undefined);
    expect([off.isOn, keyring.isOn]).toEqual([false, true]);
    await expect(off.sealItems(OWNER, ITEMS)).rejects.toThrow('keyring is not ready - waiting for keys');
    expect(await off.publicKeys()).toEqual([]);
    rows = [];
    await expect(keyring.ready()).rejects.toThrow('keyring is not ready - waiting for keys');
  });

  it('AU-180, OP-206: a key that another wrapping key wrapped is named, reported and left out of the public keys', async () => {
    const foreign = await newRootKey(new AeadWrapper(randomBytes(32)), { ...made[0]!, KeyID: 'foreign' });
    rows = [{ ...foreign, CreateIndex: 1, ModifyIndex: 1 }, made[1]!];
    await expect(keyring.sealItems(OWNER, ITEMS)).rejects.toThrow(KeyringError);
    await expect(keyring.signJwt('foreign', {})).rejects.toThrow('root key foreign cannot be unwrapped');
    expect((await keyring.publicKeys()).map(({ kid }) => kid)).toEqual(['two']);
    expect(new Set(failures)).toEqual(new Set(['foreign']));
  });

  it('a wrapped part does not serve another key, nor a public key that is not its own', async () => {
    rows = [{ ...made[0]!, Wrapped: made[1]!.Wrapped }];
    await expect(keyring.ready()).rejects.toThrow('root key one cannot be unwrapped');
    rows = [{ ...made[0]!, PublicKey: made[1]!.PublicKey }];
    await expect(keyring.ready()).rejects.toThrow('is not that of its private key');
  });

  it('is asked to unwrap once for each key, and again after a failure', async () => {
    let asked = 0;
    let away = true;
    const counting = ringOf({
      provider: 'aead',
      wrap: () => Promise.reject(new Error('unused')),
      unwrap: (keyId, wrapped) => {
        asked++;
        return away ? Promise.reject(new Error('away')) : wrapper.unwrap(keyId, wrapped);
      },
    });
    await expect(counting.ready()).rejects.toThrow('root key one cannot be unwrapped: away');
    away = false;
    await Promise.all(Array.from({ length: 5 }, () => counting.sealItems(OWNER, ITEMS)));
    expect(asked).toBe(2);
  });

  it('OP-210: a key moves to another wrapper and stays the same key; the former wrapper may go then', async () => {
    const others = new AeadWrapper(randomBytes(32));
    const service: KeyWrapper = {
      provider: 'transit',
      wrap: async (keyId, secret) => ({ Provider: 'transit', Data: (await others.wrap(keyId, secret)).Data }),
      unwrap: (keyId, wrapped) => others.unwrap(keyId, wrapped),
    };
    const sealed = await keyring.sealItems(OWNER, ITEMS);
    const both = ringOf(service, wrapper);
    expect(rows.map((key) => [both.needsRewrapping(key), keyring.needsRewrapping(key)])).toEqual([
      [true, false],
      [true, false],
    ]);
    await expect(ringOf(service).openItems(OWNER, sealed)).rejects.toThrow('wrapped by "aead"');
    rows = [{ ...made[0]!, Wrapped: await both.rewrapped(made[0]!) }];
    expect(rows.map((key) => both.needsRewrapping(key))).toEqual([false]);
    expect(await ringOf(service).openItems(OWNER, sealed)).toEqual(ITEMS);
    await expect(ringOf(wrapper).openItems(OWNER, sealed)).rejects.toThrow('wrapped by "transit"');
    expect(await ringOf(wrapper, service).openItems(OWNER, sealed)).toEqual(ITEMS);
  });

  it('OP-210: a key of an older version of the wrapping key is wrapped anew, as far as the wrapper knows versions', async () => {
    let asked = 0;
    const versioned: KeyWrapper = {
      provider: 'aead',
      wrap: (keyId, secret) => wrapper.wrap(keyId, secret),
      unwrap: (keyId, wrapped) => wrapper.unwrap(keyId, wrapped),
      isOutdated: (wrapped) => asked > 0 && wrapped === made[0]!.Wrapped,
      refresh: async () => void asked++,
    };
    const ring = ringOf(versioned);
    expect(rows.map((key) => ring.needsRewrapping(key))).toEqual([false, false]);
    await ring.refreshWrapper();
    expect(rows.map((key) => ring.needsRewrapping(key))).toEqual([true, false]);
    await keyring.refreshWrapper(); // of a wrapper without versions
    expect(rows.map((key) => keyring.needsRewrapping(key))).toEqual([false, false]);
  });

  it('AU-178: while the key management service is away, keys in hand work, public keys are shown and tokens verified', async () => {
    let away = false;
    const leaving: KeyWrapper = {
      provider: 'aead',
      wrap: () => Promise.reject(new KeyServiceError('away')),
      unwrap: (keyId, wrapped) => (away ? Promise.reject(new KeyServiceError('away')) : wrapper.unwrap(keyId, wrapped)),
    };
    const ring = ringOf(leaving);
    const sealed = await ring.sealItems(OWNER, ITEMS);
    const token = await keyring.signJwt('two', { iat: NOW_S });
    away = true;
    expect(await ring.openItems(OWNER, sealed)).toEqual(ITEMS);
    expect((await ring.publicKeys()).map(({ kid }) => kid)).toEqual(['two', 'one']);
    expect(await ring.verifyJwt(token)).toEqual({ iat: NOW_S });
    await expect(ring.verifyJwt(`${token.slice(0, -8)}AAAAAAAA`)).rejects.toThrow(TokenRefusedError);
    await expect(ring.signJwt('two', {})).rejects.toThrow('root key two cannot be unwrapped: away');
    await expect(ring.newRootKey({ ...made[0]!, KeyID: 'new' })).rejects.toThrow(
      'root key new cannot be wrapped: away',
    );
  });

  it('AU-178: public keys are shown newest first, with no private member', async () => {
    const keys = await keyring.publicKeys();
    expect(keys.map(({ kid }) => kid)).toEqual(['two', 'one']);
    for (const key of keys) expect(Object.keys(key).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  });
});

describe('tokens', () => {
  const claims = {
    aud: 'nomadproject.io',
    iat: NOW_S,
    nbf: NOW_S,
    jti: 'id',
    sub: 'global:default:web:web:web:default',
  };

  it('AU-137: the same key and claims give the same bytes; AU-171: they verify', async () => {
    const token = await keyring.signJwt('two', claims);
    expect(await ringOf(wrapper).signJwt('two', claims)).toBe(token);
    expect(JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString())).toEqual({
      alg: 'RS256',
      kid: 'two',
      typ: 'JWT',
    });
    const other = await keyring.signJwt('two', claims, { x: 'y', alg: 'none', kid: 'one', typ: 'z' });
    expect(JSON.parse(Buffer.from(other.split('.')[0]!, 'base64url').toString())).toEqual({
      x: 'y',
      alg: 'RS256',
      kid: 'two',
      typ: 'JWT',
    });
    expect(await keyring.verifyJwt(token)).toEqual(claims);
    expect((await keyring.signJwt(undefined, claims)).startsWith(token.split('.')[0]!)).toBe(false);
  });

  it.each([
    ['exp', NOW_S - 59, true],
    ['exp', NOW_S - 61, false],
    ['nbf', NOW_S + 59, true],
    ['nbf', NOW_S + 61, false],
    ['iat', NOW_S + 59, true],
    ['iat', NOW_S + 61, false],
  ])('AU-171: %s at %i counts: %s, with a minute of leeway', async (claim, at, counts) => {
    const verifying = keyring.verifyJwt(await keyring.signJwt('one', { ...claims, [claim]: at }));
    if (counts) expect(await verifying).toMatchObject({ [claim]: at });
    else await expect(verifying).rejects.toThrow(TokenRefusedError);
  });

  it('AU-174: what is no token of a known key is refused, whatever it is', async () => {
    const token = await keyring.signJwt('one', claims);
    const [header = '', payload = '', signature = ''] = token.split('.');
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const hmac = (() => {
      const input = `${part({ alg: 'HS256', kid: 'one' })}.${payload}`;
      return `${input}.${createHmac('sha256', made[0]!.PublicKey.n).update(input).digest('base64url')}`;
    })();
    const bad = [
      '',
      'abc',
      '..',
      'a.b.c',
      `${header}.${payload}.`,
      `${header}.${part({ ...claims, sub: 'other' })}.${signature}`,
      `${part({ alg: 'none', kid: 'one' })}.${payload}.`,
      `${part({ alg: 'RS256' })}.${payload}.${signature}`,
      `${part({ alg: 'RS256', kid: 'unknown' })}.${payload}.${signature}`,
      `${part({ alg: 'RS256', kid: 'two' })}.${payload}.${signature}`,
      `${part({ alg: 'RS256', kid: 'one', crit: ['x'], x: 1 })}.${payload}.${signature}`,
      hmac,
      `${token}.${signature}`,
      'x'.repeat(100_000),
    ];
    for (const text of bad) await expect(keyring.verifyJwt(text), text.slice(0, 80)).rejects.toThrow(TokenRefusedError);
    await expect(ringOf(undefined).verifyJwt(token)).rejects.toThrow(TokenRefusedError);
  });
});
