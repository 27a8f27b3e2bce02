import {
  ROOT_KEY_ALGORITHM,
  type RootKey,
  type RootKeySpecification,
  type RootKeyState,
  type WrappedRootKey,
} from '@waybill/model';
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { type Entropy, SYSTEM_ENTROPY } from './entropy.js';
import type { KeyWrapper } from './key-wrapper.js';
import { KEY_BYTES } from './sealing.js';

/** NewRootKey has the properties of a root key that are set when it is made. */
export interface NewRootKey {
  readonly KeyID: string;
  readonly State: RootKeyState;
  /** The time of creation in Unix nanoseconds. */
  readonly CreateTime: number;
  /** The time of prepublishing in Unix nanoseconds; 0 if the key is not prepublished. */
  readonly PublishTime: number;
}

/**
 * RootKeyMaterial holds the private parts of a root key, unwrapped. They stay in memory and no answer contains them.
 */
export interface RootKeyMaterial {
  readonly keyId: string;
  /** The key that encrypts the items of variables. */
  readonly encryptionKey: Buffer;
  /** The key that signs identities. */
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Secret is the form in which the private parts are wrapped. */
interface Secret {
  readonly AES256: string;
  /** The private key in PKCS #8. */
  readonly RSA: string;
}

/** Makes a root key. */
export async function newRootKey(
  wrapper: KeyWrapper,
  said: NewRootKey,
  entropy: Entropy = SYSTEM_ENTROPY,
): Promise<RootKeySpecification> {
  const { privateKey, publicKey } = await entropy.keyPair();
  const { KeyID, State, CreateTime, PublishTime } = said;
  const material = { keyId: KeyID, encryptionKey: entropy.bytes(KEY_BYTES), privateKey, publicKey };
  const Wrapped = await wrapMaterial(wrapper, material);
  const PublicKey = publicPartOf(publicKey);
  return { KeyID, Algorithm: ROOT_KEY_ALGORITHM, State, CreateTime, PublishTime, PublicKey, Wrapped };
}

/** @throws KeyServiceError */
export function wrapMaterial(
  wrapper: KeyWrapper,
  { keyId, encryptionKey, privateKey }: RootKeyMaterial,
): Promise<WrappedRootKey> {
  const secret: Secret = {
    AES256: encryptionKey.toString('base64'),
    RSA: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
  };
  return wrapper.wrap(keyId, JSON.stringify(secret));
}

/**
 * @param wrappers the wrappers that are configured here, one of each provider
 * @throws KeyServiceError if there is no verdict now; another Error that says why the key cannot be used here
 */
export async function unwrapRootKey(wrappers: readonly KeyWrapper[], row: RootKey): Promise<RootKeyMaterial> {
  const { KeyID, PublicKey, Wrapped } = row;
  const wrapper = wrappers.find(({ provider }) => provider === Wrapped.Provider);
  if (!wrapper) {
    const here = wrappers.map(({ provider }) => `"${provider}"`).join(' and ');
    throw new Error(`it was wrapped by "${Wrapped.Provider}", and the wrapping key configured here is of ${here}`);
  }
  const { AES256, RSA } = JSON.parse(await wrapper.unwrap(KeyID, Wrapped)) as Secret; // authenticated: written by newRootKey
  const privateKey = createPrivateKey({ key: Buffer.from(RSA, 'base64'), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  if (publicPartOf(publicKey).n !== PublicKey.n) throw new Error('its public key is not that of its private key');
  return { keyId: KeyID, encryptionKey: Buffer.from(AES256, 'base64'), privateKey, publicKey };
}

/** Returns the key that verifies signatures, from the row. */
export const publicKeyOf = ({ PublicKey }: RootKey): KeyObject =>
  createPublicKey({ key: { kty: 'RSA', ...PublicKey }, format: 'jwk' });

function publicPartOf(key: KeyObject): RootKey['PublicKey'] {
  const { n = '', e = '' } = key.export({ format: 'jwk' });
  return { n, e };
}
