import { generateKeyPair, type KeyObject, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

/** The size of the key pair that signs identities, in bits (OP-215). */
export const RSA_BITS = 2_048;

/** KeyPair is a key pair that signs and verifies identities. */
export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** Entropy makes keys and nonces, which nobody may predict. A simulation replaces it, because its runs must repeat. */
export interface Entropy {
  bytes(count: number): Buffer;
  /** Makes an RSA key pair with RSA_BITS. */
  keyPair(): Promise<KeyPair>;
}

const generate = promisify(generateKeyPair);

/** The random numbers of the operating system. A key pair takes some tens of milliseconds in the thread pool. */
export const SYSTEM_ENTROPY: Entropy = {
  bytes: (count) => randomBytes(count),
  keyPair: () => generate('rsa', { modulusLength: RSA_BITS }),
};
