// `npm test [-- path …]`: the unit tests, the simulation, the integration tests, then one line `N passed, N failed[, N skipped]`.
//
// One vitest run after the other: integration tests measure time and kill processes, so they must not share the
// two cores of a CI machine with the unit tests' workers. A run that dies without a report, an unhandled error, a file
// that cannot be loaded, a skip that gives no reason, and a run of nothing at all are failures.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { emptyTally, mergeTallies, skippedTable, summaryLine, verdictOf } from './test-tally.mjs';

const PROJECTS = ['unit', 'simulation', 'integration'];
const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const vitest = path.join(path.dirname(require.resolve('vitest/package.json')), 'vitest.mjs');
const reporter = fileURLToPath(new URL('./tally-reporter.mjs', import.meta.url));

/**
 * @param {string} project
 * @param {string[]} filters
 * @param {string} tallyFile
 */
async function runProject(project, filters, tallyFile) {
  const args = ['run', '--project', project, '--reporter=default', `--reporter=${reporter}`];
  const child = spawn(process.execPath, [vitest, ...args, '--passWithNoTests', '--allowOnly=false', ...filters], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TEST_TALLY_FILE: tallyFile },
  });
  const forward = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal);
  process.on('SIGINT', forward).on('SIGTERM', forward);
  const exit = await new Promise((resolve) => child.on('close', (code, signal) => resolve(code ?? signal)));
  process.off('SIGINT', forward).off('SIGTERM', forward);
  return { exit, tally: readTally(tallyFile) };
}

/** @param {string} file */
function readTally(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

const filters = process.argv.slice(2);
const dir = mkdtempSync(path.join(tmpdir(), 'waybill-test-'));
let total = emptyTally();
try {
  for (const project of PROJECTS) {
    const { exit, tally } = await runProject(project, filters, path.join(dir, `${project}.json`));
    total = mergeTallies(total, verdictOf(project, exit, tally));
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

const ran = total.passed + total.failed;
if (ran === 0) process.stdout.write(`\nno test ran${filters.length ? ` for ${filters.join(' ')}` : ''}\n`);
for (const problem of total.problems) process.stdout.write(`\nfailure: ${problem}\n`);
if (total.skipped.length > 0) process.stdout.write(`\nskipped:\n${skippedTable(total.skipped)}\n`);
process.stdout.write(`\n${summaryLine(total)}\n`);
process.exitCode = total.failed > 0 || ran === 0 ? 1 : 0;
