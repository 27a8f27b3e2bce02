// What all targets share. A target is a module with `fuzz(data)`, which throws for whatever must not happen, and `seeds()`,
// inputs to begin with. The runner is scripts/fuzz.mjs; docs/testing.md says how to use it.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Most bytes of an input; longer ones are what limits of the API are for. */
export const MAX_BYTES = 10_240;
/** Of processor time, for one input. Far above what any takes, also on a busy machine and with coverage counted. */
const MAX_MS = 1_000;

/** A promise of a parser that an input shows to be broken. */
export class BrokenPromise extends Error {
  /** @override */
  name = 'BrokenPromise';
}

/**
 * The result of `run`; undefined if it throws an error that it declares. Everything else that it throws is a finding:
 * TypeError, RangeError and the end of the stack first of all.
 *
 * @template T
 * @param {readonly (new (...args: never[]) => Error)[]} declared
 * @param {() => T} run
 * @returns {T | undefined}
 */
export function declaring(declared, run) {
  try {
    return run();
  } catch (error) {
    if (declared.some((one) => error instanceof one)) return undefined;
    throw error;
  }
}

/** @param {string} what @param {unknown} found @param {unknown} expected */
export function same(what, found, expected) {
  if (isDeepStrictEqual(found, expected)) return;
  throw new BrokenPromise(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}

/**
 * `fuzz` with its time taken: nothing of MAX_BYTES takes MAX_MS.
 *
 * @param {(data: Buffer) => void} fuzz
 * @returns {(data: Buffer) => void}
 */
export const timed = (fuzz) => (data) => {
  if (data.length > MAX_BYTES) return;
  const before = process.cpuUsage();
  fuzz(data);
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1_000;
  if (ms > MAX_MS) throw new BrokenPromise(`${data.length} bytes took ${Math.round(ms)} ms`);
};

/** As JSON bodies are read: undefined for what is none. @param {Buffer | string} data @returns {unknown} */
export function jsonOf(data) {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}

/** Parts of an input, where a target takes several texts. @param {Buffer} data @param {number} count */
export function texts(data, count) {
  const parts = data.toString('utf8').split('\n--\n');
  return Array.from({ length: count }, (_, i) => parts[i] ?? '');
}

/** @param {string} folder from the root @param {RegExp} name @returns {string[]} texts of the files */
export const filesIn = (folder, name) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => name.test(file) && !file.includes('node_modules') && !/(^|\/)dist\//.test(file))
    .map((file) => readFileSync(path.join(root, folder, file), 'utf8'))
    .filter((text) => Buffer.byteLength(text) <= MAX_BYTES);
