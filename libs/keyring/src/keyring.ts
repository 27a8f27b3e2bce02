import { errorText, Refusal, type RootKey, type RootKeySpecification, type WrappedRootKey } from '@waybill/model';
import type { KeyObject } from 'node:crypto';
import { type Entropy, SYSTEM_ENTROPY } from './entropy.js';
import {
  type Claims,
  type ExtraHeaders,
  keyIdOf,
  signClaims,
  TokenRefusedError,
  verifiedClaims,
} from './identity-tokens.js';
import { KeyServiceError } from './key-service-error.js';
import type { KeyWrapper } from './key-wrapper.js';
import {
  newRootKey,
  type NewRootKey,
  publicKeyOf,
  type RootKeyMaterial,
  unwrapRootKey,
  wrapMaterial,
} from './root-key-material.js';
import { type Items, openItemsWith, type Owner, type SealedItems, sealItemsWith } from './sealed-items.js';

/** The largest number of unwrapped root keys in memory. A cluster has a handful, and old ones are collected. */
const MAX_HELD_KEYS = 64;

type Soon<T> = T | Promise<T>;

/** RootKeys returns the rows of root keys, from the tables of a replica or from the read model. */
export interface RootKeys {
  find(keyId: string): Soon<RootKey | undefined>;
  active(): Soon<RootKey | undefined>;
  all(): Soon<Iterable<RootKey>>;
}

export interface KeyringDeps {
  /** The wrapper wraps new root keys. If it is undefined, none is configured and the keyring is off. */
  readonly wrapper: KeyWrapper | undefined;
  /** The former wrapper unwraps root keys that were wrapped before `wrapper` was configured. */
  readonly formerWrapper?: KeyWrapper | undefined;
  readonly keys: RootKeys;
  readonly nowMs: () => number;
  /** SYSTEM_ENTROPY by default. */
  readonly entropy?: Entropy;
  /** Receives a stored key that cannot be used here, each time that a caller needs it. */
  readonly onUnusable?: (keyId: string, error: Error) => void;
}

/**
 * KeyringError says that a needed key is missing or cannot be used here. The message names the key, for the client too
 * (OP-206, OP-216).
 */
export class KeyringError extends Refusal {
  override readonly name = 'KeyringError';
  constructor(message: string) {
    super('internal', message);
  }
}

/** PublicJwk is a public key as `/.well-known/jwks.json` shows it (AU-178). */
export interface PublicJwk {
  readonly kty: 'RSA';
  readonly kid: string;
  readonly alg: 'RS256';
  readonly use: 'sig';
  readonly n: string;
  readonly e: string;
}

/**
 * Keyring uses root keys: it encrypts and decrypts the items of variables, and signs and verifies identities.
 *
 * It holds no rows. Each call reads them, so a deleted key is unusable at once (AU-185). It holds the unwrapped
 * material of keys that were needed, and unwraps each once. It does not hold a failure, so it asks a key management
 * service again after an outage. During an outage the keys that it holds stay usable, and it verifies signatures of the
 * other keys with the public key in their row.
 */
export class Keyring {
  private readonly entropy: Entropy;
  private readonly held = new Map<string, Promise<RootKeyMaterial>>();

  constructor(private readonly deps: KeyringDeps) {
    this.entropy = deps.entropy ?? SYSTEM_ENTROPY;
  }

  /** Says whether a wrapping key is configured. */
  get isOn(): boolean {
    return this.deps.wrapper !== undefined;
  }

  /** Makes sure that the active key can be used. @throws KeyringError */
  async ready(): Promise<void> {
    await this.active();
  }

  /**
   * Makes and wraps a root key, which the caller writes (OP-212). @throws KeyringError if the keyring is off or
   * wrapping failed
   */
  async newRootKey(said: NewRootKey): Promise<RootKeySpecification> {
    const { wrapper } = this.deps;
    if (!wrapper) throw new KeyringError(NOT_CONFIGURED);
    return this.wrapping(said.KeyID, newRootKey(wrapper, said, this.entropy));
  }

  /**
   * Says whether a wrapper other than the one for new keys wrapped the root key, or an older version of the wrapping
   * key.
   */
  needsRewrapping({ Wrapped }: RootKey): boolean {
    const { wrapper } = this.deps;
    if (!wrapper) return false;
    return Wrapped.Provider !== wrapper.provider || wrapper.isOutdated?.(Wrapped) === true;
  }

  /** Learns which version of the wrapping key wraps new keys now. @throws KeyServiceError */
  async refreshWrapper(): Promise<void> {
    await this.deps.wrapper?.refresh?.();
  }

  /** Returns the private parts of a root key, wrapped by the wrapper for new keys. @throws KeyringError */
  async rewrapped(row: RootKey): Promise<WrappedRootKey> {
    const { wrapper } = this.deps;
    if (!wrapper) throw new KeyringError(NOT_CONFIGURED);
    return this.wrapping(row.KeyID, wrapMaterial(wrapper, await this.material(row)));
  }

  /** Encrypts items under the active key (OP-204). @throws KeyringError */
  async sealItems(owner: Owner, items: Items): Promise<SealedItems> {
    return sealItemsWith(await this.active(), owner, items, this.entropy);
  }

  /**
   * Decrypts items. @throws KeyringError if the key is missing or cannot be used, or the items were encrypted for
   * another variable (OP-206)
   */
  async openItems(owner: Owner, { KeyID, Data }: SealedItems): Promise<Items> {
    const items = openItemsWith(await this.named(KeyID), owner, Data);
    if (items === undefined)
      throw new KeyringError(`items of ${owner.Namespace}/${owner.Path} cannot be decrypted with root key ${KeyID}`);
    return items;
  }

  /**
   * Signs claims. @param keyId the key of the allocation (`signingKeyOf` of the state); the active key if undefined
   * @param headers further members of the header
   * @throws KeyringError
   */
  async signJwt(keyId: string | undefined, claims: Claims, headers?: ExtraHeaders): Promise<string> {
    return signClaims(keyId === undefined ? await this.active() : await this.named(keyId), claims, headers);
  }

  /**
   * Returns the claims of a token that a key of this cluster signed and that is valid now. The caller checks the
   * subject and the audience.
   * @throws TokenRefusedError
   */
  async verifyJwt(token: string): Promise<Claims> {
    const keyId = keyIdOf(token);
    const row = await this.deps.keys.find(keyId);
    if (!row || !this.deps.wrapper) throw new TokenRefusedError(`the token's key ${keyId} is not known`);
    return verifiedClaims(await this.verifyingKey(row), token, this.deps.nowMs());
  }

  /**
   * Returns the public keys of all keys that can be used here, the newest first. It reports the others and leaves them
   * out (AU-178, AU-180). It does not leave out a key because the key management service is away: verifiers would keep
   * the incomplete answer for days.
   */
  async publicKeys(): Promise<PublicJwk[]> {
    const rows = [...(await this.deps.keys.all())].toSorted(
      (a, b) => b.CreateTime - a.CreateTime || (a.KeyID < b.KeyID ? -1 : 1),
    );
    const usable = await Promise.all(
      rows.map((row) =>
        this.verifyingKey(row).then(
          () => row,
          () => undefined,
        ),
      ),
    );
    return usable.flatMap((row) => (row ? jwkOf(row) : []));
  }

  private async wrapping<T>(keyId: string, wrapped: Promise<T>): Promise<T> {
    try {
      return await wrapped;
    } catch (error) {
      const failure = new KeyringError(`root key ${keyId} cannot be wrapped: ${errorText(error)}`);
      failure.cause = error;
      throw failure;
    }
  }

  private async verifyingKey(row: RootKey): Promise<KeyObject> {
    try {
      return (await this.material(row)).publicKey;
    } catch (error) {
      if (error instanceof KeyringError && error.cause instanceof KeyServiceError) return publicKeyOf(row);
      throw error;
    }
  }

  private async active(): Promise<RootKeyMaterial> {
    const row = await this.deps.keys.active();
    if (!this.deps.wrapper) throw new KeyringError(NOT_CONFIGURED);
    if (!row) throw new KeyringError(`${NOT_READY} none was made yet`);
    return this.material(row);
  }

  private async named(keyId: string): Promise<RootKeyMaterial> {
    const row = await this.deps.keys.find(keyId);
    if (!row) throw new KeyringError(`root key ${keyId} not found`);
    return this.material(row);
  }

  private material(row: RootKey): Promise<RootKeyMaterial> {
    const held = this.held.get(row.KeyID);
    if (held) return held;
    const unwrapping = this.unwrapped(row);
    const [oldest] = this.held.keys();
    if (oldest !== undefined && this.held.size >= MAX_HELD_KEYS) this.held.delete(oldest);
    this.held.set(row.KeyID, unwrapping);
    unwrapping.catch(() => this.held.delete(row.KeyID));
    return unwrapping;
  }

  private async unwrapped(row: RootKey): Promise<RootKeyMaterial> {
    const { wrapper, formerWrapper, onUnusable } = this.deps;
    if (!wrapper)
      throw new KeyringError(`${NOT_READY} root key ${row.KeyID} is wrapped, and no wrapping key is configured`);
    try {
      return await unwrapRootKey(formerWrapper ? [wrapper, formerWrapper] : [wrapper], row);
    } catch (error) {
      const failure = new KeyringError(`root key ${row.KeyID} cannot be unwrapped: ${errorText(error)}`);
      failure.cause = error;
      onUnusable?.(row.KeyID, failure);
      throw failure;
    }
  }
}

const NOT_READY = 'keyring is not ready - waiting for keys:';
const NOT_CONFIGURED = `${NOT_READY} no wrapping key is configured (docs/secrets.md)`;

const jwkOf = ({ KeyID: kid, PublicKey: { n, e } }: RootKey): PublicJwk => ({
  kty: 'RSA',
  kid,
  alg: 'RS256',
  use: 'sig',
  n,
  e,
});
