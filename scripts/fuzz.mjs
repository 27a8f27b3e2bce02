// `npm run fuzz -- TARGET [--seconds N] [--seed N]`: gives a parser inputs made from those that reached new code, until time
// is up or a promise is broken (test/fuzz/harness.mjs). `--all` takes all targets in turn, each as long. `--minimise` puts
// what was found into the corpus, as few and as short inputs as reach the same code. No TARGET: their names.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { build } from 'vite';
import { MAX_BYTES } from '../test/fuzz/harness.mjs';
import { instrument } from '../test/fuzz/instrument.mjs';
import { root } from './source-tree.mjs';

/** Most inputs of a target in the repository: those that reach most of what shorter ones do not. */
const MOST_INPUTS = 40;
/** An input that takes longer never ends. The promise of one second is kept by the harness, in processor time. */
const HANGS_AFTER_MS = 20_000;
const LOOK_MS = 1_000;
const HASHED = /^[0-9a-f]{16}$/;

const folder = path.join(root, 'test/fuzz/targets');
const targets = readdirSync(folder).map((file) => file.replace(/\.mjs$/, ''));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(1 + (Date.now() % 1_000_000)) },
    all: { type: 'boolean' },
    minimise: { type: 'boolean', default: false },
  },
});
const chosen = values.all ? targets : positionals;
if (chosen.length === 0 || chosen.some((one) => !targets.includes(one))) {
  process.stderr.write(
    `usage: npm run fuzz -- TARGET [--seconds N] [--seed N] [--minimise]\ntargets: ${targets.join(' ')}\n`,
  );
  process.exit(2);
}

/** The target with all of Waybill's code that it uses, counted. @param {string} target */
async function bundled(target) {
  const so = { counters: 0, words: /** @type {Set<string>} */ (new Set()) };
  const out = path.join(root, '.fuzz/bundles', target);
  await build({
    root,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: [/^@waybill\//] },
    build: {
      ssr: path.join(folder, `${target}.mjs`),
      target: 'node20',
      outDir: out,
      emptyOutDir: true,
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'target.mjs' } },
    },
    plugins: [
      {
        name: 'fuzz-counters',
        transform: (code, id) =>
          /\/(libs|apps)\/[^/]+\/dist\//.test(id) ? { code: instrument(code, so), map: null } : null,
      },
    ],
  });
  return { ...so, bundle: pathToFileURL(path.join(out, 'target.mjs')).href };
}

/** @param {string} dir @returns {Buffer[]} */
function filesOf(dir) {
  mkdirSync(dir, { recursive: true });
  return readdirSync(dir)
    .toSorted()
    .map((name) => readFileSync(path.join(dir, name)));
}

/** @param {string} dir @param {Iterable<Uint8Array>} inputs */
function store(dir, inputs) {
  for (const one of inputs)
    writeFileSync(path.join(dir, createHash('sha1').update(one).digest('hex').slice(0, 16)), one);
}

/**
 * @param {string} target
 * @returns {Promise<boolean>} whether it kept its promises
 */
async function fuzz(target) {
  const corpus = path.join(root, 'test/fuzz/corpus', target);
  const found = path.join(root, '.fuzz', target);
  const { seeds } = await import(pathToFileURL(path.join(folder, `${target}.mjs`)).href);
  const inputs = [
    ...seeds().map((/** @type {string | Buffer} */ seed) => Buffer.from(seed)),
    ...filesOf(corpus),
    ...filesOf(found),
  ]
    .filter((one) => one.length <= MAX_BYTES)
    .toSorted((a, b) => a.length - b.length);
  const { bundle, counters, words } = await bundled(target);
  const shared = new SharedArrayBuffer(8 + MAX_BYTES);
  const worker = new Worker(path.join(root, 'test/fuzz/worker.mjs'), {
    workerData: {
      bundle,
      counters,
      words: [...words],
      inputs,
      seconds: Number(values.seconds),
      seed: Number(values.seed),
      shared,
      minimise: values.minimise,
    },
  });
  const progress = new Int32Array(shared, 0, 2);
  const atNow = () => Buffer.from(new Uint8Array(shared, 8, Atomics.load(progress, 1)));
  let at = { count: 0, sinceMs: performance.now() };
  /** @type {{ data: Uint8Array, why: string } | undefined} */
  let broken;
  const looking = setInterval(() => {
    const count = Atomics.load(progress, 0);
    if (count !== at.count) at = { count, sinceMs: performance.now() };
    else if (count > 0 && performance.now() - at.sinceMs > HANGS_AFTER_MS) {
      broken = { data: atNow(), why: `did not end within ${HANGS_AFTER_MS / 1_000} s` };
      void worker.terminate();
    }
  }, LOOK_MS);
  worker.on('error', (error) => (broken = { data: atNow(), why: String(error.stack) }));
  worker.on('message', (said) => {
    if (said.broken) broken = { data: said.broken, why: said.error };
    else report(said);
  });
  /** @param {{ ok: boolean, executed: number, reached: number, inputs: Uint8Array[] }} said */
  function report({ ok, executed, reached, inputs: kept }) {
    if (ok && values.minimise) {
      // Those that once broke a promise have names that people gave them.
      for (const name of readdirSync(corpus)) if (HASHED.test(name)) rmSync(path.join(corpus, name));
      store(corpus, kept.slice(0, MOST_INPUTS));
    } else store(found, kept);
    const verb = values.minimise ? `${Math.min(kept.length, MOST_INPUTS)} in the corpus` : `${kept.length} new`;
    process.stdout.write(
      `${ok ? 'ok  ' : 'FAIL'} ${target}: ${executed} inputs, ${verb}, ${reached} of ${counters} places reached (seed ${values.seed})\n`,
    );
  }
  await new Promise((resolve) => worker.once('exit', resolve));
  clearInterval(looking);
  if (!broken) return true;
  const file = path.join(
    root,
    '.fuzz',
    `broken-${target}-${createHash('sha1').update(broken.data).digest('hex').slice(0, 16)}`,
  );
  writeFileSync(file, broken.data);
  process.stdout.write(
    `FAIL ${target}: ${broken.why}\nThe input is ${file}: put it into ${path.relative(root, corpus)} with the repair.\n`,
  );
  return false;
}

let failures = 0;
for (const target of chosen) if (!(await fuzz(target))) failures += 1;
process.exitCode = failures === 0 ? 0 : 1;
