import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const vitest = path.join(path.dirname(require.resolve('vitest/package.json')), 'vitest.mjs');

/** The reporter that writes the results of the tests to the file TEST_TALLY_FILE, and ends a run that hangs. */
export const TALLY_REPORTER = fileURLToPath(new URL('./tally-reporter.mjs', import.meta.url));

/**
 * Runs vitest in its own process group, and kills the rest of the group when vitest ends: workers that hang, and servers
 * of failed tests, which would hold the output open. SIGINT and SIGTERM are passed on.
 *
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {import('node:child_process').StdioOptions} stdio
 * @returns {Promise<number | string | null>} exit code, or the signal that ended it
 */
export async function runVitest(args, env, stdio = 'inherit') {
  const child = spawn(process.execPath, [vitest, ...args], { stdio, env: { ...process.env, ...env }, detached: true });
  const forward = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal);
  process.on('SIGINT', forward).on('SIGTERM', forward);
  const exit = await new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal)));
  process.off('SIGINT', forward).off('SIGTERM', forward);
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nothing is left of it.
  }
  return exit;
}
