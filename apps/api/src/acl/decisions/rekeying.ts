import type { AclToken, AuthMethod, AuthMethodConfig } from '@waybill/model';
import type { RekeyedToken } from '@waybill/state';
import type { Decision } from '@waybill/writing';
import { type MethodSecret, type MethodSecrets } from '../method-secrets.js';
import { type TokenSecrets, UnsealableError } from '../token-secrets.js';

/** Nothing is written: the secret is stored under the present key, or neither key decrypts it. */
export type NotRekeyed = 'present' | 'unreadable';

/** Returns the token's secret as the present key stores it. */
export function rekeyedToken(
  { AccessorID, SecretHash, SealedSecret }: Pick<AclToken, 'AccessorID' | 'SecretHash' | 'SealedSecret'>,
  secrets: Pick<TokenSecrets, 'isPresent' | 'open' | 'hash' | 'seal'>,
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
