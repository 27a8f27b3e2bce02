import { describe, expect, it } from 'vitest';
import { MethodSecrets } from './method-secrets.js';
import { UnsealableError } from './token-secrets.js';

const KEY = Buffer.alloc(32, 3);
const secrets = new MethodSecrets(KEY);

describe('secrets of auth methods as they are stored', () => {
  it('AU-21, AU-24: the same secret of a method is the same text, and that of nothing else', () => {
    const sealed = secrets.seal('OIDCClientSecret', 'ci', 'hush');
    expect(secrets.seal('OIDCClientSecret', 'ci', 'hush')).toBe(sealed);
    const others = [
      secrets.seal('OIDCClientSecret', 'ci', 'hush!'),
      secrets.seal('OIDCClientSecret', 'people', 'hush'),
      secrets.seal('PemKey', 'ci', 'hush'),
      new MethodSecrets(Buffer.alloc(32, 4)).seal('OIDCClientSecret', 'ci', 'hush'),
    ];
    const nonces = [sealed, ...others].map((text) => Buffer.from(text, 'base64').subarray(0, 12).toString('hex'));
    expect(new Set([sealed, ...others]).size).toBe(5);
    expect(new Set(nonces).size).toBe(5);
    expect(Buffer.from(sealed, 'base64').includes('hush')).toBe(false);
  });

  it('while the key changes, open under both keys, and are sealed with the present one', () => {
    const former = new MethodSecrets(Buffer.alloc(32, 4));
    const both = new MethodSecrets(KEY, former);
    expect(both.open('PemKey', 'ci', former.seal('PemKey', 'ci', 'hush'))).toBe('hush');
    expect(both.seal('PemKey', 'ci', 'hush')).toBe(secrets.seal('PemKey', 'ci', 'hush'));
    expect(() => both.open('PemKey', 'people', former.seal('PemKey', 'ci', 'hush'))).toThrow(UnsealableError);
  });

  it('AU-24: open under their key only, as this secret of this method', () => {
    const sealed = secrets.seal('PemKey', 'ci', 'é'.repeat(2_000));
    expect(secrets.open('PemKey', 'ci', sealed)).toBe('é'.repeat(2_000));
    expect(() => secrets.open('PemKey', 'people', sealed)).toThrow(UnsealableError);
    expect(() => secrets.open('OIDCClientSecret', 'ci', sealed)).toThrow(UnsealableError);
    expect(() => new MethodSecrets(Buffer.alloc(32, 4)).open('PemKey', 'ci', sealed)).toThrow(UnsealableError);
    expect(() => secrets.open('PemKey', 'ci', `${sealed.slice(0, -4)}AAA=`)).toThrow(
      'the secret of ACL auth method ci (PemKey) was not sealed with the key in WAYBILL_ACL_KEY_FILE',
    );
  });
});
