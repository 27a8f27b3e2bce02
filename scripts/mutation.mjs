// `npm run mutation -- PATH`: puts small faults into the code below a folder, one at a time, and says which of them the
// tests of its package notice. The working tree is not touched: a test run reads the faulty text instead of the file.
import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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
 * `noticed`: a test failed, or the faulty file threw while it was loaded. `timeout`: the tests did not end. `uncovered`:
 * no test reaches the place. What a run says beside these is an error of this tool.
 *
 * @typedef {'noticed' | 'timeout' | 'survived' | 'uncovered' | 'accepted'} Outcome
 */

/** A run that takes so long hangs. */
const TIMEOUT_MS = 60_000;
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
  .option('--json', 'every fault with what became of it', false)
  .parse();
const [target = ''] = program.args;
const { sample, seed: given, jobs, only, json } = program.opts();
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
const scratch = mkdtempSync(path.join(tmpdir(), 'waybill-mutation-'));
if (!json) print(`${chosen.length} of ${all.length} faults below ${target}, seed ${seed}`);
/** @returns {Promise<{ candidate: Candidate, outcome: Outcome }[]>[]} */
function workers() {
  const queue = chosen.entries();
  return Array.from({ length: Number(jobs) }, async () => {
    const worker = new Worker();
    const done = [];
    await mustPass(worker, files[0] ?? '');
    for (const [number, candidate] of queue) {
      const outcome = isAccepted(candidate) ? 'accepted' : await tested(worker, candidate, number);
      if ((outcome === 'survived' || outcome === 'uncovered') && !json)
        print(`${outcome.padEnd(9)} ${placeOf(candidate)}  ${shown(candidate)}`);
      done.push({ candidate, outcome });
      if (done.length % CONTROL_EVERY === 0) await mustPass(worker, candidate.file);
    }
    await mustPass(worker, files.at(-1) ?? '');
    worker.stop();
    return done;
  });
}

/** @param {Worker} worker @param {string} file */
async function mustPass(worker, file) {
  if ((await worker.run(file, textOf(file), specsOf(file).flat())) !== 'survived')
    throw new Error('the tests fail without any fault');
}

/**
 * What the tests of the package say to the fault: those beside the file first, which mostly notice it.
 *
 * @param {Worker} worker
 * @param {Candidate} candidate
 * @param {number} number
 * @returns {Promise<Outcome>}
 */
async function tested(worker, { file, mutant }, number) {
  const text = textOf(file);
  const faulty = applied(text, mutant);
  const [error] = parseSync(file, faulty).errors;
  if (error) throw new Error(`${file}:${mutant.line}: ${mutant.kind} makes no TypeScript: ${error.message}`);
  const stages = specsOf(file);
  for (const specs of stages) {
    const outcome = await worker.run(file, faulty, specs);
    if (outcome !== 'survived') return outcome;
  }
  const mark = path.join(scratch, String(number));
  const once = `__reached${number}`;
  const write = `process.getBuiltinModule('node:fs').writeFileSync(${JSON.stringify(mark)}, '')`;
  for (const specs of stages) {
    await worker.run(file, probed(text, mutant, `(globalThis as any).${once} ??= (${write}, true)`), specs);
    if (existsSync(mark)) return 'survived';
  }
  return 'uncovered';
}

/** @param {string} file @returns {string[][]} the tests of its package in the order in which they are asked */
function specsOf(file) {
  const [group, name] = file.split('/');
  const specs = filesBelow(`${group}/${name}/src`, /\.spec\.ts$/);
  const near = specs.filter((spec) => spec === file.replace(/\.ts$/, '.spec.ts'));
  const beside = specs.filter((spec) => !near.includes(spec) && path.dirname(spec) === path.dirname(file));
  const others = specs.filter((spec) => !near.includes(spec) && !beside.includes(spec));
  return [near, beside, others].filter((stage) => stage.length > 0);
}

/** A test runner in its own process, which is ended when a fault keeps it from ending itself. */
class Worker {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;

  /**
   * @param {string} file
   * @param {string} text read in its place
   * @param {readonly string[]} specs
   * @returns {Promise<'noticed' | 'timeout' | 'survived'>}
   */
  async run(file, text, specs) {
    const child = (this.#process ??= await started());
    child.send({ file, text, specs });
    const answer = await messageOf(child, TIMEOUT_MS);
    if (answer === undefined) {
      this.stop();
      return 'timeout';
    }
    if (answer.failed + answer.broken.length > 0) return 'noticed';
    if (answer.passed === 0) throw new Error(`no test ran for ${file}`);
    return 'survived';
  }

  stop() {
    this.#process?.kill('SIGKILL');
    this.#process = undefined;
  }
}

async function started() {
  const child = fork(path.join(root, 'scripts/mutation-worker.mjs'), { cwd: root, stdio: 'ignore' });
  await messageOf(child, TIMEOUT_MS);
  return child;
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {number} withinMs
 * @returns {Promise<import('./mutation-worker.mjs').Answer | undefined>} its next message, or nothing in that time
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
    child.once('exit', (code) => settled(() => reject(new Error(`the test runner ended with ${code}`))));
  });
}

/** @param {{ candidate: Candidate, outcome: Outcome }[]} done */
function report(done) {
  if (json) {
    print(
      JSON.stringify(
        done.map(({ candidate, outcome }) => ({ place: placeOf(candidate), outcome })),
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
 * @returns {T[]} so many of them, the same for the same seed, in their order
 */
function chooseFrom(items, count, from) {
  let state = (from % 2_147_483_646) + 1;
  const next = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return items
    .map((item, at) => ({ item, at, key: next() }))
    .toSorted((a, b) => a.key - b.key)
    .slice(0, count)
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

const outcomes = await Promise.all(workers());
rmSync(scratch, { recursive: true, force: true });
report(outcomes.flat());
