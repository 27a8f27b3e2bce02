import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { MethodSecrets } from '../method-secrets.js';
import { TokenSecrets } from '../token-secrets.js';
import { rekeyedMethod, rekeyedToken, TOKENS_PER_TRANSACTION, tokenRekeyings } from './rekeying.js';

const [FORMER, PRESENT, THIRD] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer];

describe('secrets under the former key', () => {
  it('of a token are stored under the present key; what is there is left alone', () => {
    const former = new TokenSecrets(FORMER);
    const both = new TokenSecrets(PRESENT, undefined, former);
    const AccessorID = 'a1';
    const token = (secrets: TokenSecrets) => ({
      AccessorID,
      SecretHash: secrets.hash('secret'),
      SealedSecret: secrets.seal(AccessorID, 'secret'),
    });
    const rekeyed = rekeyedToken(token(former), both);
    expect(rekeyed).toMatchObject({ AccessorID, FormerHash: former.hash('secret'), SecretHash: both.hash('secret') });
    const present = new TokenSecrets(PRESENT);
    expect(typeof rekeyed === 'object' && present.open(AccessorID, rekeyed.SealedSecret)).toBe('secret');
    expect(rekeyedToken(token(present), both)).toBe('present');
    expect(rekeyedToken(token(new TokenSecrets(THIRD)), both)).toBe('unreadable');
  });

  it('of many tokens are stored in several transactions, each token once', () => {
    const former = new TokenSecrets(FORMER);
    const both = new TokenSecrets(PRESENT, undefined, former);
    const token = (AccessorID: string, secrets = former) => ({
      AccessorID,
      SecretHash: secrets.hash(AccessorID),
      SealedSecret: secrets.seal(AccessorID, AccessorID),
    });
    const ids = Array.from({ length: 2 * TOKENS_PER_TRANSACTION + 1 }, (_, n) => `a${n}`);
    const others = [token('present', new TokenSecrets(PRESENT)), token('lost', new TokenSecrets(THIRD))];
    const { decisions, rekeyed, unreadable } = tokenRekeyings([...others, ...ids.map((id) => token(id))], both);
    const batches = decisions.map(({ payload }) => payload.Tokens.map(({ AccessorID }) => AccessorID));
    expect(batches.map(({ length }) => length)).toEqual([TOKENS_PER_TRANSACTION, TOKENS_PER_TRANSACTION, 1]);
    expect(batches.flat()).toEqual(ids);
    expect([rekeyed, unreadable]).toEqual([ids.length, 1]);
  });

  it('of an auth method are stored under the present key, both of them, and nothing else of it changes', () => {
    const former = new MethodSecrets(FORMER);
    const present = new MethodSecrets(PRESENT);
    const both = new MethodSecrets(PRESENT, former);
    const PrivateKey = {
      SealedPemKey: former.seal('PemKey', 'people', 'pem'),
      PemKeyFile: '',
      PemCert: '',
      PemCertFile: '',
      KeyID: 'k',
      KeyIDHeader: 'kid',
    } as const;
    const assertion = { KeySource: 'private_key', Audience: ['a'], KeyAlgorithm: 'RS256', ExtraHeaders: null } as const;
    const method = fixtures.anAuthMethod({
      Name: 'people',
      Config: fixtures.aMethodConfig({
        SealedClientSecret: former.seal('OIDCClientSecret', 'people', 'hush'),
        OIDCClientAssertion: { ...assertion, Audience: ['a'], PrivateKey },
      }),
    });
    const decision = rekeyedMethod(method, both);
    if (typeof decision !== 'object') throw new Error(decision);
    const { AuthMethod } = decision.payload;
    const { SealedClientSecret, OIDCClientAssertion } = AuthMethod.Config;
    expect(present.open('OIDCClientSecret', 'people', SealedClientSecret)).toBe('hush');
    expect(present.open('PemKey', 'people', OIDCClientAssertion?.PrivateKey?.SealedPemKey ?? '')).toBe('pem');
    const again = fixtures.anAuthMethod({ ...method, Config: AuthMethod.Config });
    expect(rekeyedMethod(again, both)).toBe('present');
    expect(AuthMethod).toMatchObject({ Name: 'people', Type: method.Type, MaxTokenTTL: method.MaxTokenTTL });
    expect(rekeyedMethod(method, new MethodSecrets(THIRD))).toBe('unreadable');
    expect(rekeyedMethod(fixtures.anAuthMethod(), both)).toBe('present');
  });
});
