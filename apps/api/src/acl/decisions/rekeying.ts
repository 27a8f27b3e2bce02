import type { AclToken, AuthMethod, AuthMethodConfig } from '@waybill/model';
import type { RekeyedToken } from '@waybill/state';
import type { Decision } from '@waybill/writing';
import { type MethodSecret, type MethodSecrets } from '../method-secrets.js';
import { type TokenSecrets, UnsealableError } from '../token-secrets.js';

/** Nothing is written: the secret is stored under the present key, or neither key decrypts it. */
export type NotRekeyed = 'present' | 'unreadable';

/** Tokens in one transaction. A token takes some 300 bytes of it. */
export const TOKENS_PER_TRANSACTION = 200;

export interface TokenRekeyings {
  /** The transactions, with TOKENS_PER_TRANSACTION tokens each. */
  readonly decisions: readonly Decision<'ACLTokenRekey'>[];
  readonly rekeyed: number;
  readonly unreadable: number;
}

/** Returns how to store the secrets of all tokens under the present key. Cost: one decryption for each token. */
export function tokenRekeyings(tokens: readonly StoredSecret[], secrets: RekeyingSecrets): TokenRekeyings {
  const outcomes = tokens.map((token) => rekeyedToken(token, secrets));
  const rekeyed = outcomes.filter((outcome) => typeof outcome === 'object');
  const decisions: Decision<'ACLTokenRekey'>[] = [];
  for (let from = 0; from < rekeyed.length; from += TOKENS_PER_TRANSACTION) {
    const Tokens = rekeyed.slice(from, from + TOKENS_PER_TRANSACTION);
    decisions.push({ type: 'ACLTokenRekey', payload: { Tokens } });
  }
  const unreadable = outcomes.filter((outcome) => outcome === 'unreadable').length;
  return { decisions, rekeyed: rekeyed.length, unreadable };
}

type StoredSecret = Pick<AclToken, 'AccessorID' | 'SecretHash' | 'SealedSecret'>;
type RekeyingSecrets = Pick<TokenSecrets, 'isPresent' | 'open' | 'hash' | 'seal'>;

/** Returns the token's secret as the present key stores it. */
export function rekeyedToken(
  { AccessorID, SecretHash, SealedSecret }: StoredSecret,
  secrets: RekeyingSecrets,
): RekeyedToken | NotRekeyed {
  return unlessUnreadable(() => {
    if (secrets.isPresent(AccessorID, SealedSecret)) return 'present';
    const secret = secrets.open(AccessorID, SealedSecret);
    return {
      AccessorID,
      FormerHash: SecretHash,
      SecretHash: secrets.hash(secret),
      SealedSecret: secrets.seal(AccessorID, secret),
    };
  });
}

/** Returns the method with its secrets as the present key stores them, and otherwise as it is. */
export function rekeyedMethod(
  method: AuthMethod,
  secrets: Pick<MethodSecrets, 'open' | 'seal'>,
): Decision<'ACLAuthMethodUpsert'> | NotRekeyed {
  return unlessUnreadable(() => {
    const { CreateIndex: _created, ModifyIndex: _modified, CreateTime: _time, Hash: _hash, ...said } = method;
    const Config = rekeyedConfig(method, secrets);
    const isPresent = JSON.stringify(Config) === JSON.stringify(method.Config);
    return isPresent ? 'present' : { type: 'ACLAuthMethodUpsert', payload: { AuthMethod: { ...said, Config } } };
  });
}

/** The same secret under the same key is always the same text, so a present one does not change. */
function rekeyedConfig({ Name, Config }: AuthMethod, secrets: Pick<MethodSecrets, 'open' | 'seal'>): AuthMethodConfig {
  const resealed = (what: MethodSecret, sealed: string): string =>
    sealed === '' ? '' : secrets.seal(what, Name, secrets.open(what, Name, sealed));
  const { OIDCClientAssertion: assertion } = Config;
  const key = assertion?.PrivateKey;
  return {
    ...Config,
    SealedClientSecret: resealed('OIDCClientSecret', Config.SealedClientSecret),
    OIDCClientAssertion:
      assertion && key
        ? { ...assertion, PrivateKey: { ...key, SealedPemKey: resealed('PemKey', key.SealedPemKey) } }
        : assertion,
  };
}

function unlessUnreadable<T>(decide: () => T | NotRekeyed): T | NotRekeyed {
  try {
    return decide();
  } catch (error) {
    if (error instanceof UnsealableError) return 'unreadable';
    throw error;
  }
}
