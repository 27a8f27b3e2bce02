import { errorText, Refusal, type RootKey, type RootKeySpecification, type WrappedRootKey } from '@waybill/model';
import type { KeyObject } from 'node:crypto';
import { type Claims, keyIdOf, signClaims, TokenRefusedError, verifiedClaims } from './identity-tokens.js';
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

/** Root keys held unwrapped at a time; there are a handful, and old ones are collected. */
const MAX_HELD_KEYS = 64;

type Soon<T> = T | Promise<T>;

/** Where the rows of root keys come from: the tables of a replica, or the read model. */
export interface RootKeys {
  find(keyId: string): Soon<RootKey | undefined>;
  active(): Soon<RootKey | undefined>;
  all(): Soon<Iterable<RootKey>>;
}

export interface KeyringDeps {
  /** Wraps new root keys. Undefined: none is configured, and the keyring is off. */
  readonly wrapper: KeyWrapper | undefined;
  /** Unwraps root keys that were wrapped before `wrapper` was configured. */
  readonly formerWrapper?: KeyWrapper | undefined;
  readonly keys: RootKeys;
  readonly nowMs: () => number;
  /** A stored key that cannot be used here, each time that somebody needs it. */
  readonly onUnusable?: (keyId: string, error: Error) => void;
}

/** A key is needed that is not there or cannot be used here; the message names it, for the client too (OP-206, OP-216). */
export class KeyringError extends Refusal {
  override readonly name = 'KeyringError';
  constructor(message: string) {
    super('internal', message);
  }
}

/** A public key as `/.well-known/jwks.json` shows it (AU-178). */
export interface PublicJwk {
  readonly kty: 'RSA';
  readonly kid: string;
  readonly alg: 'RS256';
  readonly use: 'sig';
  readonly n: string;
  readonly e: string;
}

/**
 * Uses root keys: seals and opens items of variables, signs and verifies identities.
 *
 * It holds no rows: each call asks for them, so that a deleted key is of no use at once (AU-185). What it holds is the
 * unwrapped material of keys that were asked for, each unwrapped once; a failure is not held, so that a key management
 * service that was away is asked again. While it is away, keys that are held stay usable, and signatures of the others are
 * verified with the public key of their row.
 */
export class Keyring {
  private readonly held = new Map<string, Promise<RootKeyMaterial>>();

  constructor(private readonly deps: KeyringDeps) {}

  /** Whether a wrapping key is configured. */
  get isOn(): boolean {
    return this.deps.wrapper !== undefined;
  }

  /** The active key can be used. @throws KeyringError */
  async ready(): Promise<void> {
    await this.active();
  }

  /** Makes and wraps a root key, for its caller to write (OP-212). @throws KeyringError the keyring is off, or wrapping failed */
  async newRootKey(said: NewRootKey): Promise<RootKeySpecification> {
    const { wrapper } = this.deps;
    if (!wrapper) throw new KeyringError(NOT_CONFIGURED);
    return this.wrapping(said.KeyID, newRootKey(wrapper, said));
  }

  /** Whether the root key was wrapped by another wrapper than the one that wraps new keys. */
  needsRewrapping({ Wrapped }: RootKey): boolean {
    const { wrapper } = this.deps;
    return wrapper !== undefined && Wrapped.Provider !== wrapper.provider;
  }

  /** The private parts of a root key, wrapped by the wrapper of new keys. @throws KeyringError */
  async rewrapped(row: RootKey): Promise<WrappedRootKey> {
    const { wrapper } = this.deps;
    if (!wrapper) throw new KeyringError(NOT_CONFIGURED);
    return this.wrapping(row.KeyID, wrapMaterial(wrapper, await this.material(row)));
  }

  /** Under the active key (OP-204). @throws KeyringError */
  async sealItems(owner: Owner, items: Items): Promise<SealedItems> {
    return sealItemsWith(await this.active(), owner, items);
  }

  /** @throws KeyringError the key is gone or cannot be used, or they were sealed for another variable (OP-206) */
  async openItems(owner: Owner, { KeyID, Data }: SealedItems): Promise<Items> {
    const items = openItemsWith(await this.named(KeyID), owner, Data);
    if (items === undefined)
      throw new KeyringError(`items of ${owner.Namespace}/${owner.Path} cannot be decrypted with root key ${KeyID}`);
    return items;
  }

  /** @param keyId of the allocation (`signingKeyOf` of the state); undefined: the active key @throws KeyringError */
  async signJwt(keyId: string | undefined, claims: Claims): Promise<string> {
    return signClaims(keyId === undefined ? await this.active() : await this.named(keyId), claims);
  }

  /**
   * The claims of a token that a key of this cluster signed and that counts now; whose they are, and for which audience, the
   * caller checks.
   * @throws TokenRefusedError
   */
  async verifyJwt(token: string): Promise<Claims> {
    const keyId = keyIdOf(token);
    const row = await this.deps.keys.find(keyId);
    if (!row || !this.deps.wrapper) throw new TokenRefusedError(`the token's key ${keyId} is not known`);
    return verifiedClaims(await this.verifyingKey(row), token, this.deps.nowMs());
  }

  /**
   * Of every key that can be used here, the newest first; the others are reported and left out (AU-178, AU-180). A key is not
   * left out because the key management service is away: verifiers would keep the answer without it for days.
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
