// `npm test [-- path …]`: the unit tests, the simulation, the integration tests, then one line `N passed, N failed[, N skipped]`.
//
// One vitest run after the other: integration tests measure time and kill processes, so they must not share the
// two cores of a CI machine with the unit tests' workers. A run that dies without a report or hangs, an unhandled error, a file
// that cannot be loaded, a skip that gives no reason, and a run of nothing at all are failures. In CI a few integration
// files that fail are run once more, alone, before they count: real processes share the machine with others.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  emptyTally,
  filesToTryAgain,
  mergeTallies,
  skippedTable,
  summaryLine,
  verdictOf,
  withSecondTry,
} from './test-tally.mjs';
import { runVitest, TALLY_REPORTER } from './vitest-run.mjs';

const PROJECTS = ['unit', 'simulation', 'integration'];
/** These load the packages as `npm test` has built them: compiling the sources of all services once more took 30 s. */
const BUILT_FOR = ['simulation'];
const SECOND_TRIES = process.env['CI'] ? ['integration'] : [];

/**
 * @param {string} project
 * @param {string[]} filters
 * @param {string} tallyFile
 */
async function runProject(project, filters, tallyFile) {
  const args = ['run', '--project', project, '--reporter=default', `--reporter=${TALLY_REPORTER}`];
  const env = { TEST_TALLY_FILE: tallyFile, TEST_PACKAGES_BUILT: String(BUILT_FOR.includes(project)) };
  const exit = await runVitest([...args, '--passWithNoTests', '--allowOnly=false', ...filters], env);
  return { exit, report: readReport(tallyFile) };
}

/**
 * @param {string} file
 * @returns {import('./test-tally.mjs').Report | undefined}
 */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

let isInterrupted = false;
process.on('SIGINT', () => (isInterrupted = true)).on('SIGTERM', () => (isInterrupted = true));

const filters = process.argv.slice(2);
const dir = mkdtempSync(path.join(tmpdir(), 'waybill-test-'));
let total = emptyTally();
/** @type {string[]} */
const triedAgain = [];
try {
  for (const project of PROJECTS) {
    let { exit, report } = await runProject(project, filters, path.join(dir, `${project}.json`));
    const again = SECOND_TRIES.includes(project) ? filesToTryAgain(report) : [];
    if (report && again.length > 0) {
      process.stdout.write(`\nonce more: ${again.join(' ')}\n`);
      triedAgain.push(...again);
      const second = await runProject(project, again, path.join(dir, `${project}-again.json`));
      report = withSecondTry(report, second.report);
      exit = second.exit;
    }
    total = mergeTallies(total, verdictOf(project, exit, report));
    if (isInterrupted) break;
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

const ran = total.passed + total.failed;
if (ran === 0) process.stdout.write(`\nno test ran${filters.length ? ` for ${filters.join(' ')}` : ''}\n`);
if (triedAgain.length > 0) process.stdout.write(`\nneeded a second try: ${triedAgain.join(' ')}\n`);
if (total.skipped.length > 0) process.stdout.write(`\nskipped:\n${skippedTable(total.skipped)}\n`);
// Last, where whoever reads only the end of a long output finds them.
for (const problem of total.problems) process.stdout.write(`\nfailure: ${problem}\n`);
process.stdout.write(`\n${summaryLine(total)}\n`);
process.exitCode = total.failed > 0 || ran === 0 ? 1 : 0;
