import { beforeEach, describe, expect, it } from 'vitest';
import { KeyServiceError } from '../key-service-error.js';
import type { TransitAnswer } from './transit-answer.js';
import { FIRST_PAUSE_MS, MAX_ATTEMPTS, REST_MS, TransitWrapper } from './transit-wrapper.js';

/** What the service answers, one after another; the last one again and again. */
let answers: (TransitAnswer | 'none')[];
let asked: string[];
let pauses: number[];
let nowMs: number;
let wrapper: TransitWrapper;

const answer = (status: number, body: unknown): TransitAnswer => ({ status, text: JSON.stringify(body) });
const decrypted = (text: string) => answer(200, { data: { plaintext: Buffer.from(text).toString('base64') } });
const encrypted = answer(200, { data: { ciphertext: 'vault:v1:c2VhbGVk' } });
const stored = { Provider: 'transit', Data: 'vault:v1:c2VhbGVk' };

beforeEach(() => {
  [answers, asked, pauses, nowMs] = [[], [], [], 1_000_000];
  wrapper = new TransitWrapper({
    call: (operation) => {
      asked.push(operation);
      const next = answers.length > 1 ? answers.shift() : answers[0];
      return next === undefined || next === 'none'
        ? Promise.reject(new KeyServiceError('the key management service cannot be reached (ECONNREFUSED)'))
        : Promise.resolve(next);
    },
    nowMs: () => nowMs,
    pause: (ms) => {
      pauses.push(ms);
      return Promise.resolve();
    },
  });
});

describe('wrapping with a transit engine', () => {
  it('OP-210: a key counts as wrapped after it was read back', async () => {
    answers = [encrypted, decrypted('secret')];
    expect(await wrapper.wrap('one', 'secret')).toEqual(stored);
    expect(asked).toEqual(['encrypt', 'decrypt']);
  });

  it.each([
    ['another text comes back', [encrypted, decrypted('other')], 'does not give back'],
    ['the ciphertext has another form', [answer(200, { data: { ciphertext: 'secret' } })], 'does not give back'],
    ['there is no ciphertext', [answer(200, { data: {} })], 'has no ciphertext'],
    ['a page comes back', [{ status: 200, text: '<html>' }], 'has no ciphertext'],
    ['null comes back', [answer(200, null)], 'has no ciphertext'],
  ])('a wrong answer wraps nothing: %s', async (_why, given, text) => {
    answers = given;
    const wrapping = wrapper.wrap('one', 'secret');
    await expect(wrapping).rejects.toThrow(KeyServiceError);
    await expect(wrapping).rejects.toThrow(text);
  });

  it('what may pass is tried again, a limited number of times and with growing pauses', async () => {
    answers = ['none', answer(503, { errors: ['Vault is sealed'] }), decrypted('secret')];
    expect(await wrapper.unwrap('one', stored)).toBe('secret');
    expect(pauses).toEqual([FIRST_PAUSE_MS, FIRST_PAUSE_MS * 4]);
    answers = [answer(503, { errors: ['Vault\n is sealed'] })];
    asked.length = 0;
    await expect(wrapper.unwrap('one', stored)).rejects.toThrow('answered 503 to decrypt: Vault is sealed');
    expect(asked).toHaveLength(MAX_ATTEMPTS);
  });

  it.each([403, 404, 307])('%d is not tried again', async (status) => {
    answers = [answer(status, { errors: ['1 error occurred:\n\t* permission denied\n\n'] })];
    await expect(wrapper.unwrap('one', stored)).rejects.toThrow(
      `answered ${status} to decrypt: 1 error occurred: * permission denied`,
    );
    expect(asked).toHaveLength(1);
  });

  it('a service that failed is left alone for a while, and then asked again', async () => {
    answers = ['none'];
    await expect(wrapper.unwrap('one', stored)).rejects.toThrow('ECONNREFUSED');
    answers = [decrypted('secret')];
    nowMs += REST_MS - 1;
    await expect(wrapper.unwrap('one', stored)).rejects.toThrow('ECONNREFUSED');
    expect(asked).toHaveLength(MAX_ATTEMPTS);
    nowMs += 1;
    expect(await wrapper.unwrap('one', stored)).toBe('secret');
  });

  it('a ciphertext that it refuses says something of that key only, and rests nothing', async () => {
    answers = [answer(400, { errors: ['invalid ciphertext: no prefix'] }), decrypted('secret')];
    const refused = wrapper.unwrap('foreign', stored);
    await expect(refused).rejects.not.toBeInstanceOf(KeyServiceError);
    await expect(refused).rejects.toThrow('answered 400 to decrypt: invalid ciphertext: no prefix');
    expect(await wrapper.unwrap('one', stored)).toBe('secret');
  });
});

describe('the version of the wrapping key', () => {
  const byVersion = (version: number) => answer(200, { data: { ciphertext: `vault:v${version}:c2VhbGVk` } });
  const wrappedBy = (version: number) => ({ Provider: 'transit', Data: `vault:v${version}:c2VhbGVk` });

  it('OP-210: an older version than the one that encrypted last is outdated, and nothing is before something was encrypted', async () => {
    expect(wrapper.isOutdated(wrappedBy(1))).toBe(false);
    answers = [byVersion(2)];
    await wrapper.refresh();
    expect(asked).toEqual(['encrypt']);
    expect([1, 2, 3].map((version) => wrapper.isOutdated(wrappedBy(version)))).toEqual([true, false, false]);
    expect(wrapper.isOutdated({ Provider: 'transit', Data: 'odd' })).toBe(false);
    answers = [byVersion(10), decrypted('secret')];
    await wrapper.wrap('one', 'secret');
    expect([2, 9, 10].map((version) => wrapper.isOutdated(wrappedBy(version)))).toEqual([true, true, false]);
  });

  it('OP-210: a key that began anew with a low version makes nothing outdated, so that nothing is wrapped for ever', async () => {
    answers = [byVersion(5), byVersion(1)];
    await wrapper.refresh();
    await wrapper.refresh();
    expect([1, 4].map((version) => wrapper.isOutdated(wrappedBy(version)))).toEqual([false, false]);
  });

  it('a refresh that fails tells why and keeps the version', async () => {
    answers = [byVersion(2), answer(403, { errors: ['permission denied'] })];
    await wrapper.refresh();
    await expect(wrapper.refresh()).rejects.toThrow('answered 403 to encrypt: permission denied');
    expect(wrapper.isOutdated(wrappedBy(1))).toBe(true);
  });
});
