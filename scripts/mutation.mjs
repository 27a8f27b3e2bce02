// `npm run mutation -- PATH`: puts small faults into the code below a folder, one at a time, and says which of them the
// tests of its package notice. The working tree is not touched: a test run reads the faulty text instead of the file.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { Command } from 'commander';
import { applied, mutantsOf } from './mutants.mjs';
import { filesBelow, root, textOf } from './source-tree.mjs';

/** @param {string} text */
const print = (text) => void process.stdout.write(`${text}\n`);
/** @param {string} text */
const complain = (text) => void process.stderr.write(`${text}\n`);

/** @typedef {import('./mutants.mjs').Mutant} Mutant */
/** @typedef {{ readonly file: string, readonly mutant: Mutant }} Candidate */
/** @typedef {'noticed' | 'survived' | 'accepted'} Outcome */

/** A run that takes so long hangs, and whoever waits for it notices. */
const TIMEOUT_MS = 60_000;
/** Wiring, and what talks to a server: only tests across services can see it. */
const SHELL =
  /(\.module|\.controller|\.service|\/main|\/index|\.fixture|\.transport|\.store|\/kv-lease-store|\.spec)\.ts$|\/fixtures?\//;
/** Faults that change nothing, each with its reason: looked at one by one. */
const ACCEPTED = path.join(root, 'scripts/mutation-accepted.json');

const program = new Command('mutation')
  .argument('<path>', 'a folder of sources, such as apps/broker/src, or one file')
  .option('--sample <n>', 'so many faults, chosen at random; 0: all', '100')
  .option('--seed <n>', 'what they are chosen by; printed, so that a run can be repeated')
  .option('--jobs <n>', 'test runs at once', String(availableParallelism()))
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
const scratch = mkdtempSync(path.join(tmpdir(), 'waybill-mutation-'));
if (!json) print(`${chosen.length} of ${all.length} faults below ${target}, seed ${seed}`);
if (chosen.length === 0) process.exit(2);
if ((await tested({ file: files[0] ?? '', mutant: undefined }, 0)) === 'noticed') {
  complain('the tests fail without any fault');
  process.exit(2);
}
const outcomes = await Promise.all(workers());
rmSync(scratch, { recursive: true, force: true });
report(outcomes.flat());

/** @returns {Promise<{ candidate: Candidate, outcome: Outcome }[]>[]} */
function workers() {
  const queue = chosen.entries();
  return Array.from({ length: Number(jobs) }, async () => {
    const done = [];
    for (const [number, candidate] of queue) {
      const outcome = isAccepted(candidate) ? 'accepted' : await tested(candidate, number);
      if (outcome === 'survived' && !json) print(`survived  ${placeOf(candidate)}  ${shown(candidate)}`);
      done.push({ candidate, outcome: /** @type {Outcome} */ (outcome) });
    }
    return done;
  });
}

/**
 * Whether a test of the package fails with the fault, or does not end.
 *
 * @param {{ file: string, mutant: Mutant | undefined }} candidate
 * @param {number} number
 * @returns {Promise<Outcome>}
 */
async function tested({ file, mutant }, number) {
  const text = textOf(file);
  const fault = path.join(scratch, `${number}.json`);
  const [group, name] = file.split('/');
  const specs = `${group}/${name}/src/**/*.spec.ts`;
  writeFileSync(
    fault,
    JSON.stringify({ file: path.join(root, file), text: mutant ? applied(text, mutant) : text, specs }),
  );
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const run = spawn(process.execPath, [vitest, 'run', '--config', 'scripts/mutation.config.ts'], {
    cwd: root,
    env: { ...process.env, WAYBILL_MUTATION: fault },
    stdio: 'ignore',
    detached: true,
  });
  return new Promise((resolve) => {
    const timer = setTimeout(() => process.kill(-(run.pid ?? 0), 'SIGKILL'), TIMEOUT_MS);
    run.once('exit', (code) => {
      clearTimeout(timer);
      resolve(code === 0 ? 'survived' : 'noticed');
    });
  });
}

/** @param {{ candidate: Candidate, outcome: Outcome }[]} done */
function report(done) {
  const count = (/** @type {Outcome} */ outcome) => done.filter((one) => one.outcome === outcome).length;
  const [noticed, survived] = [count('noticed'), count('survived')];
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
  const percent = ((100 * noticed) / Math.max(1, noticed + survived)).toFixed(1);
  print(`\n${target}: ${noticed} noticed, ${survived} survived, ${count('accepted')} accepted: ${percent} %`);
}

/** @param {Candidate} candidate */
function isAccepted({ file, mutant }) {
  return accepted.some((one) => one.file === file && one.kind === mutant.kind && one.line === lineText(file, mutant));
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
  return `${mutant.kind}  in  ${lineText(file, mutant)}`;
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
