import { type KeyPair, RSA_BITS } from '@waybill/keyring';
import { checkPrimeSync, createPrivateKey, createPublicKey } from 'node:crypto';
import { SeededRandom } from '../kernel/seeded-random.js';

const EXPONENT = 65_537n;
const PRIME_BYTES = RSA_BITS / 16;

/** Key pairs that all runs of this process share, because each takes a tenth of a second to make. */
const made = new Map<number, KeyPair>();

/** The n-th key pair. It is the same on every machine, because its primes come from a seed. */
export function seededKeyPair(n: number): KeyPair {
  const known = made.get(n);
  if (known) return known;
  const random = new SeededRandom(`key pair ${n}`);
  const p = primeOf(random.fork('p'));
  const q = primeOf(random.fork('q'));
  const d = inverseOf(EXPONENT, (p - 1n) * (q - 1n));
  const parts = { n: p * q, e: EXPONENT, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverseOf(q, p) };
  const encoded = Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, base64Of(part)]));
  const privateKey = createPrivateKey({ key: { kty: 'RSA', ...encoded }, format: 'jwk' });
  const pair = { privateKey, publicKey: createPublicKey(privateKey) };
  made.set(n, pair);
  return pair;
}

/** A prime whose two highest bits are set, so that the product of two has RSA_BITS. */
function primeOf(random: SeededRandom): bigint {
  const bytes = Buffer.from(Array.from({ length: PRIME_BYTES }, () => random.below(256)));
  bytes[0] = (bytes[0] ?? 0) | 0xc0;
  let candidate = BigInt(`0x${bytes.toString('hex')}`) | 1n;
  while ((candidate - 1n) % EXPONENT === 0n || !checkPrimeSync(candidate)) candidate += 2n;
  return candidate;
}

/** The inverse of a number by a modulus that has no factor in common with it: the extended algorithm of Euclid. */
function inverseOf(number: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [number % modulus, modulus, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  return ((x % modulus) + modulus) % modulus;
}

function base64Of(number: bigint): string {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url');
}
