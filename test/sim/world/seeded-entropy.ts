import type { Entropy } from '@waybill/keyring';
import type { SeededRandom } from '../kernel/seeded-random.js';
import { seededKeyPair } from './seeded-key-pairs.js';

/** Key pairs that a run draws from. A root key differs from all others by its ID and its AES key in any case. */
const KEY_PAIRS = 3;

/** Keys and nonces of one process, from its own random numbers. */
export const seededEntropy = (random: SeededRandom): Entropy => ({
  bytes: (count) => Buffer.from(Array.from({ length: count }, () => random.below(256))),
  keyPair: async () => seededKeyPair(random.below(KEY_PAIRS)),
});
