// `npm run mutation -- PATH`: puts small faults into the code below a folder, one at a time, and says which of them the
// tests of its package notice. The working tree is not touched: a test run reads the faulty text instead of the file.
import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { parseSync } from 'vite';
import { applied, mutantsOf, probed } from './mutants.mjs';
import { filesBelow, root, textOf } from './source-tree.mjs';

/** @param {string} text */
const print = (text) => void process.stdout.write(`${text}\n`);
/** @param {string} text */
const complain = (text) => void process.stderr.write(`${text}\n`);

/** @typedef {import('./mutants.mjs').Mutant} Mutant */
/** @typedef {{ readonly file: string, readonly mutant: Mutant }} Candidate */
/**
 * `noticed`: a test failed, or the faulty file threw while it was loaded. `timeout`: the tests did not end, or used up all
 * memory. `uncovered`: no test reaches the place. What a run says beside these is an error of this tool.
 *
 * @typedef {'noticed' | 'timeout' | 'survived' | 'uncovered' | 'accepted'} Outcome
 */

/** A run hangs that takes so long, and so much longer than all tests without a fault. */
const TIMEOUT_MS = 20_000;
const TIMEOUT_FACTOR = 4;
/** Start of a test runner, and its first run of all tests. */
const FIRST_TIMEOUT_MS = 600_000;
/** How a test runner ends whose memory is used up: a loop without an end that collects something. */
const OUT_OF_MEMORY = new Set(['SIGABRT', 'SIGTRAP']);
/** After so many faults the tests must pass without one: a runner that a fault has spoilt would notice everything. */
const CONTROL_EVERY = 20;
/** Wiring, and what talks to a server: only tests across services can see it. */
const SHELL =
  /(\.module|\.controller|\.service|\/main|\/program|\/index|\.fixture|\.transport|\.store|\/kv-lease-store|\.spec)\.ts$|\/fixtures?\//;
/** Faults that change nothing, each with its reason: looked at one by one. */
const ACCEPTED = path.join(root, 'scripts/mutation-accepted.json');

const program = new Command('mutation')
  .argument('<path>', 'a folder of sources, such as apps/broker/src, or one file')
  .option('--sample <n>', 'so many faults, chosen at random; 0: all', '100')
  .option('--seed <n>', 'what they are chosen by; printed, so that a run can be repeated')
  .option('--jobs <n>', 'test runs at once', '1')
  .option('--only <text>', 'faults whose `file:line` contains this')
  .option('--uncovered', 'no faults: one run that lists the places that no test reaches', false)
  .option('--json', 'every fault with what became of it', false)
  .parse();
const [target = ''] = program.args;
const { sample, seed: given, jobs, only, uncovered, json } = program.opts();
const seed = given === undefined ? randomInt(2 ** 31) : Number(given);

/** @type {{ file: string, line: string, kind: string, reason: string }[]} */
const accepted = JSON.parse(readFileSync(ACCEPTED, 'utf8'));
const files = target.endsWith('.ts') ? [target] : filesBelow(target, /\.ts$/).filter((file) => !SHELL.test(file));
const all = files.flatMap((file) => mutantsOf(file, textOf(file)).map((mutant) => ({ file, mutant })));
const wanted = only === undefined ? all : all.filter((one) => placeOf(one).includes(only));
const chosen = Number(sample) === 0 ? wanted : chooseFrom(wanted, Number(sample), seed);
const stale = accepted.filter(
  (one) => (one.file === target || one.file.startsWith(`${target}/`)) && !all.some((mutant) => matches(one, mutant)),
);
for (const { file, line, kind } of stale) complain(`${ACCEPTED}: no fault is ${file}  ${kind}  in  ${line}`);
if (stale.length > 0 || chosen.length === 0) process.exit(2);
/** The tests of the package. */
const specs = filesBelow(`${target.split('/').slice(0, 2).join('/')}/src`, /\.spec\.ts$/);
const scratch = mkdtempSync(path.join(tmpdir(), 'waybill-mutation-'));
if (!json) print(`${chosen.length} of ${all.length} faults below ${target}, seed ${seed}`);
/** @type {{ candidate: Candidate, outcome: Outcome }[]} */
const done = [];
process.on('SIGTERM', () => {
  complain(`ended after ${done.length} faults of ${chosen.length}`);
  report(done);
  process.exit(1);
});

/** Fills `done`. */
async function testAll() {
  const first = new Worker();
  const reached = await placesReached(first);
  if (uncovered) {
    first.stop();
    for (const [number, candidate] of chosen.entries())
      if (!reached.has(number) && !isAccepted(candidate)) done.push({ candidate, outcome: 'uncovered' });
    return;
  }
  const queue = chosen.entries();
  const working = Array.from({ length: Number(jobs) }, async (_, at) => {
    const worker = at === 0 ? first : new Worker();
    let tried = 0;
    if (worker !== first) await mustPass(worker);
    for (const [number, candidate] of queue) {
      const outcome = isAccepted(candidate) ? 'accepted' : await tested(worker, candidate, reached.get(number));
      if (outcome !== 'noticed' && outcome !== 'accepted' && !json)
        print(`${outcome.padEnd(9)} ${placeOf(candidate)}  ${shown(candidate)}`);
      done.push({ candidate, outcome });
      if (++tried % CONTROL_EVERY === 0) await mustPass(worker);
    }
    await mustPass(worker);
    worker.stop();
  });
  await Promise.all(working);
}

/** @param {Worker} worker */
async function mustPass(worker) {
  if ((await worker.run({}, specs)) !== 'survived')
    throw new Error(`the tests fail without any fault: ${worker.failed.join('; ')}`);
}

/**
 * What the tests that run the place of the fault say to it: those beside the file first, which mostly notice it.
 *
 * @param {Worker} worker
 * @param {Candidate} candidate
 * @param {ReadonlySet<string> | undefined} reachedBy
 * @returns {Promise<Outcome>}
 */
async function tested(worker, { file, mutant }, reachedBy) {
  const faulty = applied(textOf(file), mutant);
  const [error] = parseSync(file, faulty).errors;
  if (error) throw new Error(`${file}:${mutant.line}: ${mutant.kind} makes no TypeScript: ${error.message}`);
  if (reachedBy === undefined) return 'uncovered';
  for (const stage of stagesOf(file, reachedBy)) {
    const outcome = await worker.run({ [file]: faulty }, stage);
    if (outcome !== 'survived') return outcome;
  }
  return 'survived';
}

/** @typedef {ReadonlyMap<number, ReadonlySet<string>>} Reached the tests that run the place of each fault, by its number */

/**
 * One run of all tests without a fault, which notes who reaches which place. The tests share the loaded modules: what
 * runs while a file is loaded, and not in a test, counts as reached by all of them.
 *
 * @param {Worker} worker
 * @returns {Promise<Reached>}
 */
async function placesReached(worker) {
  const marks = path.join(scratch, 'reached');
  writeFileSync(marks, '');
  const watched = chosen.map(({ file, mutant }, number) => ({ file, mutant, probe: `__reached(${number})` }));
  const texts = [...new Set(watched.map(({ file }) => file))].map((file) => {
    const here = watched.filter((one) => one.file === file);
    return [file, probed(textOf(file), here) + marker(marks)];
  });
  if ((await worker.run(Object.fromEntries(texts), specs)) !== 'survived')
    throw new Error(`the tests fail while the places of faults are watched: ${worker.failed.join('; ')}`);
  /** @type {Map<number, Set<string>>} */
  const reached = new Map();
  for (const line of readFileSync(marks, 'utf8').split('\n').slice(0, -1)) {
    const [number = '', spec = ''] = line.split('\t');
    const known = reached.get(Number(number)) ?? new Set();
    for (const one of spec === '' ? specs : [path.relative(root, spec)]) known.add(one);
    reached.set(Number(number), known);
  }
  return reached;
}

/** @param {string} marks @returns {string} a function that writes, once, that a test has reached a place */
const marker = (marks) => `
var __place: string | undefined;
var __seen: Set<number> | undefined;
function __reached(number: number) {
  const { filepath, current } = Reflect.get(globalThis, '__vitest_worker__');
  const place = current?.type === 'test' ? filepath : '';
  if (place !== __place || !__seen) [__place, __seen] = [place, new Set<number>()];
  if (__seen.has(number)) return;
  __seen.add(number);
  process.getBuiltinModule('node:fs').appendFileSync(${JSON.stringify(marks)}, number + '\\t' + place + '\\n');
}
`;

/**
 * @param {string} file
 * @param {ReadonlySet<string>} reachedBy
 * @returns {string[][]} these tests in the order in which they are asked
 */
function stagesOf(file, reachedBy) {
  const wanted = specs.filter((spec) => reachedBy.has(spec));
  const near = wanted.filter((spec) => spec === file.replace(/\.ts$/, '.spec.ts'));
  const beside = wanted.filter((spec) => path.dirname(spec) === path.dirname(file));
  const first = near.length > 0 ? near : beside;
  return [first, wanted.filter((spec) => !first.includes(spec))].filter((stage) => stage.length > 0);
}

/** A test runner in its own process, which is ended when a fault keeps it from ending itself. */
class Worker {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;
  /** @type {readonly string[]} what failed in the last run */
  failed = [];
  /** The first run, which loads everything, is without a fault. */
  #withinMs = FIRST_TIMEOUT_MS;

  /**
   * @param {Readonly<Record<string, string>>} texts read in place of these files
   * @param {readonly string[]} wanted the tests to run
   * @returns {Promise<'noticed' | 'timeout' | 'survived'>}
   */
  async run(texts, wanted) {
    const child = (this.#process ??= await started());
    const begun = performance.now();
    child.send({ texts, specs: wanted });
    const answer = await messageOf(child, this.#withinMs);
    if (wanted === specs) this.#withinMs = Math.max(TIMEOUT_MS, TIMEOUT_FACTOR * (performance.now() - begun));
    if (answer === undefined) {
      this.failed = ['no end'];
      this.stop();
      return 'timeout';
    }
    this.failed = answer.failed;
    if (answer.failed.length > 0) return 'noticed';
    if (answer.passed === 0) throw new Error(`no test ran of ${wanted.join(', ')}`);
    return 'survived';
  }

  stop() {
    this.#process?.kill('SIGKILL');
    this.#process = undefined;
  }
}

async function started() {
  const child = fork(path.join(root, 'scripts/mutation-worker.mjs'), { cwd: root, stdio: 'ignore' });
  await messageOf(child, FIRST_TIMEOUT_MS);
  return child;
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} withinMs
 * @returns {Promise<import('./mutation-worker.mjs').Answer | undefined>} its next message; nothing if none came in that
 *   time, or the memory was used up
 */
function messageOf(child, withinMs) {
  return new Promise((resolve, reject) => {
    const settled = (/** @type {() => void} */ settle) => {
      clearTimeout(timer);
      child.removeAllListeners();
      settle();
    };
    const timer = setTimeout(() => settled(() => resolve(undefined)), withinMs);
    child.once('message', (message) => settled(() => resolve(/** @type {any} */ (message))));
    child.once('exit', (code, signal) =>
      settled(() =>
        signal !== null && OUT_OF_MEMORY.has(signal)
          ? resolve(undefined)
          : reject(new Error(`the test runner ended with ${code ?? signal}`)),
      ),
    );
  });
}

/** @param {{ candidate: Candidate, outcome: Outcome }[]} unordered */
function report(unordered) {
  const done = unordered.toSorted((a, b) => all.indexOf(a.candidate) - all.indexOf(b.candidate));
  if (uncovered && !json) {
    for (const { candidate } of done) print(`${placeOf(candidate)}  ${shown(candidate)}`);
    print(`${target}: no test reaches the places of ${done.length} faults of ${chosen.length}`);
    return;
  }
  if (json) {
    print(
      JSON.stringify(
        done.map(({ candidate, outcome }) => ({ place: placeOf(candidate), outcome, fault: shown(candidate) })),
        null,
        2,
      ),
    );
    return;
  }
  print('');
  const folders = [...new Set(done.map(({ candidate }) => path.dirname(candidate.file)))];
  if (folders.length > 1)
    for (const folder of folders)
      print(
        summary(
          folder,
          done.filter(({ candidate }) => path.dirname(candidate.file) === folder),
        ),
      );
  print(summary(target, done));
}

/** @param {string} name @param {{ outcome: Outcome }[]} done */
function summary(name, done) {
  const count = (/** @type {Outcome} */ outcome) => done.filter((one) => one.outcome === outcome).length;
  const noticed = count('noticed') + count('timeout');
  const percent = ((100 * noticed) / Math.max(1, done.length - count('accepted'))).toFixed(1);
  return (
    `${name}: ${count('noticed')} noticed, ${count('timeout')} by a timeout, ${count('survived')} survived, ` +
    `${count('uncovered')} not covered, ${count('accepted')} accepted: ${percent} %`
  );
}

/** @param {Candidate} candidate */
function isAccepted(candidate) {
  return accepted.some((one) => matches(one, candidate));
}

/** @param {{ file: string, line: string, kind: string }} one @param {Candidate} candidate */
function matches(one, { file, mutant }) {
  return one.file === file && one.kind === mutant.kind && one.line === lineText(file, mutant);
}

/** @param {string} file @param {Mutant} mutant */
function lineText(file, mutant) {
  return (textOf(file).split('\n')[mutant.line - 1] ?? '').trim();
}

/** @param {Candidate} candidate */
function placeOf({ file, mutant }) {
  return `${file}:${mutant.line}`;
}

/** @param {Candidate} candidate */
function shown({ file, mutant }) {
  const before = textOf(file).slice(mutant.start, mutant.end);
  const short = (/** @type {string} */ text) => text.replaceAll(/\s+/g, ' ').slice(0, 80);
  return `${mutant.kind}: ${short(before)}  →  ${short(mutant.replacement)}  in  ${lineText(file, mutant)}`;
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {number} count
 * @param {number} from
 * @returns {T[]} so many of them, the same for the same seed, in random order: also the first of them are a sample
 */
function chooseFrom(items, count, from) {
  let state = (from % 2_147_483_646) + 1;
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return items
    .map((item) => ({ item, key: next() }))
    .toSorted((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ item }) => item);
}

await testAll();
rmSync(scratch, { recursive: true, force: true });
report(done);
