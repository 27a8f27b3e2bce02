import { ROOT_KEY_ALGORITHM, type RootKey, type RootKeySpecification, type RootKeyState } from '@waybill/model';
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { KeyWrapper } from './key-wrapper.js';
import { KEY_BYTES } from './sealing.js';

/** Size of the pair that signs identities (OP-215). */
const RSA_BITS = 2_048;

const generate = promisify(generateKeyPair);

/** What is said of a root key when it is made. */
export interface NewRootKey {
  readonly KeyID: string;
  readonly State: RootKeyState;
  /** Unix ns. */
  readonly CreateTime: number;
  /** Unix ns; 0: it is not prepublished. */
  readonly PublishTime: number;
}

/** The private parts of a root key, unwrapped. They stay in memory and are never shown. */
export interface RootKeyMaterial {
  readonly keyId: string;
  /** Encrypts items of variables. */
  readonly encryptionKey: Buffer;
  /** Signs identities. */
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** The private parts as they are wrapped. */
interface Secret {
  readonly AES256: string;
  /** PKCS #8. */
  readonly RSA: string;
}

/** Makes a root key; takes some tens of milliseconds, in the thread pool. */
export async function newRootKey(wrapper: KeyWrapper, said: NewRootKey): Promise<RootKeySpecification> {
  const { privateKey, publicKey } = await generate('rsa', { modulusLength: RSA_BITS });
  const { KeyID, State, CreateTime, PublishTime } = said;
  const secret: Secret = {
    AES256: randomBytes(KEY_BYTES).toString('base64'),
    RSA: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
  };
  const Wrapped = await wrapper.wrap(KeyID, JSON.stringify(secret));
  const PublicKey = publicPartOf(publicKey);
  return { KeyID, Algorithm: ROOT_KEY_ALGORITHM, State, CreateTime, PublishTime, PublicKey, Wrapped };
}

/** @throws Error saying why the key cannot be used here */
export async function unwrapRootKey(wrapper: KeyWrapper, row: RootKey): Promise<RootKeyMaterial> {
  const { KeyID, PublicKey, Wrapped } = row;
  if (Wrapped.Provider !== wrapper.provider)
    throw new Error(
      `it was wrapped by "${Wrapped.Provider}", and the wrapping key configured here is of "${wrapper.provider}"`,
    );
  const { AES256, RSA } = JSON.parse(await wrapper.unwrap(KeyID, Wrapped)) as Secret; // authenticated: written by newRootKey
  const privateKey = createPrivateKey({ key: Buffer.from(RSA, 'base64'), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  if (publicPartOf(publicKey).n !== PublicKey.n) throw new Error('its public key is not that of its private key');
  return { keyId: KeyID, encryptionKey: Buffer.from(AES256, 'base64'), privateKey, publicKey };
}

function publicPartOf(key: KeyObject): RootKey['PublicKey'] {
  const { n = '', e = '' } = key.export({ format: 'jwk' });
  return { n, e };
}
