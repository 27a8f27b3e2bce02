// Runs a target over inputs until time is up, in a thread of its own: whoever started it sees by shared memory which input
// it is at, and ends it when that one does not end.
import { parentPort, workerData } from 'node:worker_threads';
import { COUNTERS } from './instrument.mjs';
import { MAX_BYTES } from './harness.mjs';
import { dice, mutated } from './mutations.mjs';

const { bundle, counters: size, words, inputs: given, seconds, seed, shared, minimise } = workerData;
const counters = new Uint8Array(size);
Reflect.set(globalThis, COUNTERS, counters);
const progress = new Int32Array(shared, 0, 2);
const current = new Uint8Array(shared, 8, MAX_BYTES);

/** @type {{ fuzz: (data: Buffer) => void }} */
const { fuzz } = await import(bundle);
/** For each counter, which of eight magnitudes were seen. */
const seen = new Uint8Array(size);

/** How often a place was reached, as a bit: once, twice, up to 4, 8, 16, 32, 128, more. */
const MAGNITUDE = Uint8Array.from({ length: 256 }, (_, n) =>
  n === 0 ? 0 : n === 1 ? 1 : n === 2 ? 2 : n <= 4 ? 4 : n <= 8 ? 8 : n <= 16 ? 16 : n <= 32 ? 32 : n <= 128 ? 64 : 128,
);

/** How many places the input reached that none before it did, or not as often. @param {Buffer} data */
function reachesMore(data) {
  current.set(data);
  Atomics.store(progress, 1, data.length);
  Atomics.add(progress, 0, 1);
  counters.fill(0);
  fuzz(data);
  let more = 0;
  for (let i = 0; i < size; i++) {
    const bit = MAGNITUDE[counters[i] ?? 0] ?? 0;
    if (bit === 0 || ((seen[i] ?? 0) & bit) !== 0) continue;
    seen[i] = (seen[i] ?? 0) | bit;
    more += 1;
  }
  return more;
}

/** @param {Buffer} data @param {unknown} error */
const broken = (data, error) =>
  parentPort?.postMessage({
    broken: data,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });

/** Those that matter most first. */
const byGain = () =>
  inputs
    .map((_, i) => i)
    .toSorted((a, b) => (gains[b] ?? 0) - (gains[a] ?? 0))
    .map((i) => inputs[i]);

const all = given.map((/** @type {Uint8Array} */ one) => Buffer.from(one));
/** @type {Buffer[]} */
const inputs = [];
/** @type {number[]} */
const gains = [];
let ok = true;
/** @param {Buffer} data */
function attempt(data) {
  try {
    const gain = reachesMore(data);
    if (gain === 0) return;
    inputs.push(data);
    gains.push(gain);
  } catch (error) {
    ok = false;
    broken(data, error);
  }
}

for (const one of all) if (ok) attempt(one);
const known = inputs.length;
const roll = dice(seed);
const vocabulary = words.map((/** @type {string} */ word) => Buffer.from(word));
const endMs = performance.now() + seconds * 1_000;
if (!minimise && inputs.length > 0) while (ok && performance.now() < endMs) attempt(mutated(inputs, vocabulary, roll));
const reached = seen.reduce((sum, bits) => sum + Number(bits !== 0), 0);
parentPort?.postMessage({
  ok,
  executed: Atomics.load(progress, 0),
  reached,
  inputs: minimise ? byGain() : inputs.slice(known),
});
