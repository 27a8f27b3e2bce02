import { describe, expect, it } from 'vitest';
import { TokenSecrets, UnsealableError } from './token-secrets.js';

const KEY = Buffer.from(Array.from({ length: 32 }, (_, n) => n));
const SECRET = '6a9e5b2c-0f0d-4d5e-9a57-6a0f0c6d3a11';
const ACCESSOR = '11111111-2222-4333-8444-555555555555';
/** Both were computed by another implementation of HKDF, HMAC and AES-GCM. */
const HASH = 'bf98c6978658df351db50329d9632801d9b23adc27dd353f5a639c797b9e1daf';
const SEALED = 'AAECAwQFBgcICQoLvJKW1JUc2b+uVT9DUaLfGEJb7TcUsMWJKV/pX4GZj2QOUoelslZnezexDMzbONDXJJYUtw==';

const secrets = new TokenSecrets(KEY);

describe('secrets of tokens as they are stored', () => {
  it('are what another implementation makes of the same key', () => {
    expect(secrets.hash(SECRET)).toBe(HASH);
    const counted = new TokenSecrets(KEY, (bytes) => KEY.subarray(0, bytes));
    expect(counted.seal(ACCESSOR, SECRET)).toBe(SEALED);
    expect(secrets.open(ACCESSOR, SEALED)).toBe(SECRET);
  });

  it('are sealed to another text each time, and found by the same', () => {
    const [one, two] = [secrets.seal(ACCESSOR, SECRET), secrets.seal(ACCESSOR, SECRET)];
    expect(one).not.toBe(two);
    expect([one, two].map((sealed) => secrets.open(ACCESSOR, sealed))).toEqual([SECRET, SECRET]);
    expect(secrets.hash(`${SECRET} `)).not.toBe(HASH);
  });

  it('AU-274: a refused one is known by a fingerprint, which is neither its hash nor the same under another key', () => {
    const fingerprint = secrets.fingerprint(SECRET);
    expect(fingerprint).toMatch(/^[0-9a-f]{16}$/);
    expect(fingerprint).toBe(secrets.fingerprint(SECRET));
    expect(HASH).not.toContain(fingerprint);
    expect(new TokenSecrets(Buffer.alloc(32, 7)).fingerprint(SECRET)).not.toBe(fingerprint);
  });

  it('open under their key and for their accessor only, and not when a bit of them is another', () => {
    const other = new TokenSecrets(Buffer.alloc(32, 7));
    expect(other.hash(SECRET)).not.toBe(HASH);
    expect(() => other.open(ACCESSOR, SEALED)).toThrow(UnsealableError);
    expect(() => secrets.open('22222222-2222-4333-8444-555555555555', SEALED)).toThrow(UnsealableError);
    const bytes = Buffer.from(SEALED, 'base64');
    for (const at of [0, 12, bytes.length - 1]) {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= 1;
      expect(() => secrets.open(ACCESSOR, damaged.toString('base64')), String(at)).toThrow(UnsealableError);
    }
    for (const text of ['', 'no base64 at all', 'AAAA', SEALED.slice(0, 30)])
      expect(() => secrets.open(ACCESSOR, text), text).toThrow(UnsealableError);
  });

  it('while the key changes, are found and read under both keys, and stored under the present one', () => {
    const former = new TokenSecrets(Buffer.alloc(32, 7));
    const both = new TokenSecrets(KEY, undefined, former);
    expect(both.hashes(SECRET)).toEqual([HASH, former.hash(SECRET)]);
    expect(secrets.hashes(SECRET)).toEqual([HASH]);
    const old = former.seal(ACCESSOR, SECRET);
    expect([both.open(ACCESSOR, old), both.open(ACCESSOR, SEALED)]).toEqual([SECRET, SECRET]);
    expect([both.isPresent(ACCESSOR, old), both.isPresent(ACCESSOR, both.seal(ACCESSOR, SECRET))]).toEqual([
      false,
      true,
    ]);
    expect(() => both.open('22222222-2222-4333-8444-555555555555', old)).toThrow(UnsealableError);
  });

  it('need a key of 32 bytes', () => {
    for (const length of [0, 16, 31, 33]) expect(() => new TokenSecrets(Buffer.alloc(length))).toThrow(RangeError);
  });
});
