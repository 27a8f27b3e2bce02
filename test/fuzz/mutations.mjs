// New inputs from those that are there.
import { MAX_BYTES } from './harness.mjs';

const INTERESTING = [0, 1, 9, 10, 32, 34, 39, 47, 92, 127, 128, 192, 237, 255];
const MAX_REPEATS = 400;
const MOST_CHANGES = 6;

/**
 * One of numbers that follow each other from a seed (xorshift).
 *
 * @param {number} seed
 * @returns {(below: number) => number}
 */
export function dice(seed) {
  let state = seed | 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % Math.max(below, 1);
  };
}

/**
 * @param {readonly Buffer[]} inputs not empty
 * @param {readonly Buffer[]} words
 * @param {(below: number) => number} roll
 */
export function mutated(inputs, words, roll) {
  // Half of the time one of the newest, which nobody has looked at yet.
  const newest = roll(2) === 0 ? roll(Math.min(inputs.length, 40)) : roll(inputs.length);
  /** @type {Buffer} */
  let data = Buffer.from(inputs[inputs.length - 1 - newest] ?? Buffer.alloc(0));
  for (let changes = 1 + roll(MOST_CHANGES); changes > 0; changes--) data = changed(data, inputs, words, roll);
  return data.subarray(0, MAX_BYTES);
}

/** @param {Buffer} data @param {readonly Buffer[]} inputs @param {readonly Buffer[]} words @param {(below: number) => number} roll */
function changed(data, inputs, words, roll) {
  const at = roll(data.length + 1);
  const length = 1 + roll(roll(4) === 0 ? data.length : 8);
  const put = (/** @type {Uint8Array} */ bytes, over = 0) =>
    Buffer.concat([data.subarray(0, at), bytes, data.subarray(at + over)]);
  const word = words.length > 0 ? (words[roll(words.length)] ?? data) : data;
  switch (roll(12)) {
    case 0:
      if (at < data.length) data[at] = (data[at] ?? 0) ^ (1 << roll(8));
      return data;
    case 1:
      if (at < data.length) data[at] = INTERESTING[roll(INTERESTING.length)] ?? 0;
      return data;
    case 2:
      return put(Buffer.from([32 + roll(95)]));
    case 3:
      return put(Buffer.alloc(0), length);
    case 4:
      return put(data.subarray(at, at + length));
    case 5:
    case 6:
      return put(word);
    case 7:
      return put(word, word.length);
    case 8: {
      const other = inputs[roll(inputs.length)] ?? data;
      const from = roll(other.length);
      return put(other.subarray(from, from + 1 + roll(200)), roll(2) * length);
    }
    case 9:
      return put(Buffer.from(String(roll(3) === 0 ? 2 ** roll(64) : roll(100_000) - 50_000)), roll(2));
    case 10:
      return put(
        Buffer.concat(
          Array.from({ length: 1 + roll(MAX_REPEATS) }, () => data.subarray(at, at + Math.min(length, 12))),
        ),
      );
    default: {
      const to = roll(data.length);
      const piece = Buffer.from(data.subarray(at, at + length));
      piece.copy(data, to);
      return data;
    }
  }
}
