import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { Report } from './test-tally.mjs';
import { runVitest, TALLY_REPORTER } from './vitest-run.mjs';

// Below the project, so that its files find the test runner.
const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
// It ends by itself, for the case that this test is killed meanwhile.
const LOOP = 'for (const end = Date.now() + 30_000; Date.now() < end; ) await null;';
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('a file whose loop lets no timer fire ends the run with a report that names it, and leaves no process', async () => {
  mkdirSync(CACHE, { recursive: true });
  const dir = mkdtempSync(path.join(CACHE, 'hanging-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const [pidFile, tallyFile] = [path.join(dir, 'pid'), path.join(dir, 'tally.json')];
  // The larger files first, two at a time.
  writeFileSync(path.join(dir, 'vitest.config.mjs'), 'export default { test: { maxWorkers: 2 } };');
  const ends = "import { it } from 'vitest'; it('ends', () => {});";
  writeFileSync(path.join(dir, 'first.test.js'), ends.padEnd(1_000));
  writeFileSync(path.join(dir, 'loading.test.js'), `${ends} ${LOOP}`.padEnd(900));
  writeFileSync(path.join(dir, 'last.test.js'), ends);
  writeFileSync(
    path.join(dir, 'hanging.test.js'),
    `import { it } from 'vitest'; import { writeFileSync } from 'node:fs';
     it('hangs', async () => { writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); ${LOOP} });`,
  );
  const env = { TEST_TALLY_FILE: tallyFile, TEST_HANGS_AFTER_MS: '3000' };
  const exit = await runVitest(['run', `--root=${dir}`, `--reporter=${TALLY_REPORTER}`], env, 'ignore');
  const report = JSON.parse(readFileSync(tallyFile, 'utf8')) as Report;
  expect(exit).toBe(1);
  expect(report).toMatchObject({
    'first.test.js': { passed: 1, failed: 0 },
    'hanging.test.js': { failed: 1, problems: [expect.stringContaining('never ended')] },
    'loading.test.js': { failed: 1, problems: ['loading.test.js: never ended'] },
    'last.test.js': { failed: 1, problems: [expect.stringContaining('did not run')] },
  });
  await expect.poll(() => isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
});
