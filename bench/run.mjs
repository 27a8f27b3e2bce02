// `npm run bench -- NAME [--json] [--runs N]`: one benchmark; without a name, the list of them.
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Bench, runBenchmark } from './harness.mjs';
import { machineFacts } from './machine.mjs';
import { jsonLine, table } from './report.mjs';
import { yardstickMs } from './yardstick.mjs';

/** The harness's own files: everything else in the folder is a benchmark. */
const HARNESS = new Set([
  'run',
  'harness',
  'machine',
  'yardstick',
  'report',
  'processes',
  'http-client',
  'evaluation-load',
  'scrubbing',
  'scheduling-load',
  'simulated-machines',
  'state-copy',
  'broker-backlog',
]);

const names = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => file.slice(0, -'.mjs'.length))
  .filter((name) => !HARNESS.has(name))
  .toSorted();

/** @param {string} name @returns {Promise<import('./harness.mjs').Benchmark>} */
const load = (name) => import(new URL(`${name}.mjs`, import.meta.url).href);

async function list() {
  process.stdout.write(`usage: npm run bench -- NAME [--json] [--runs N]\n\n`);
  for (const name of names) process.stdout.write(`  ${name.padEnd(12)} ${(await load(name)).describe}\n`);
}

/** @param {string} message */
function refuse(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}

/** @param {string[]} argv */
function options(argv) {
  const { values, positionals } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, runs: { type: 'string' } },
  });
  const runs = values.runs === undefined ? undefined : Number(values.runs);
  if (runs !== undefined && !(Number.isInteger(runs) && runs > 0))
    throw new Error('--runs takes a whole number above 0');
  return { json: values.json, runs, name: positionals[0] };
}

async function main() {
  let given;
  try {
    given = options(process.argv.slice(2));
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error));
    return;
  }
  const { name, json, runs } = given;
  if (name === undefined) {
    await list();
    return;
  }
  if (!names.includes(name)) {
    refuse(`no benchmark ${name}: there are ${names.join(', ') || 'none yet'}`);
    return;
  }
  // Progress goes to stderr: whoever reads the figures from stdout gets nothing else.
  const bench = new Bench({
    nowMs: () => performance.now(),
    log: (line) => process.stderr.write(`${line}\n`),
    ...(runs === undefined ? {} : { runs }),
  });
  const before = yardstickMs();
  await runBenchmark(await load(name), bench);
  const machine = machineFacts([before, yardstickMs()]);
  process.stdout.write(`${table(name, bench, machine)}\n`);
  if (json) process.stdout.write(`${jsonLine(name, bench, machine)}\n`);
}

await main();
