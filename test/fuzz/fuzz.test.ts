import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const targets = readdirSync(new URL('targets', import.meta.url)).map((file) => file.replace(/\.mjs$/, ''));
/** Each target replays its corpus, and goes on from there for so long. */
const SECONDS = 1;
const seed = Number(process.env['WAYBILL_FUZZ_SEED'] ?? Date.now() % 1_000_000);

/** In one process: to load the bundler takes longer than to replay most corpora. */
const FUZZ_MS = 240_000;

describe('what parses text from outside', () => {
  let said: string;
  beforeAll(async () => {
    const args = ['scripts/fuzz.mjs', '--all', '--seconds', String(SECONDS), '--seed', String(seed)];
    const ran = run(process.execPath, ['--enable-source-maps', ...args], { cwd: root });
    said = await ran.then(
      ({ stdout }) => stdout,
      (failed: { stdout: string; stderr: string }) => `${failed.stdout}${failed.stderr}`,
    );
  }, FUZZ_MS);

  it('has its inputs in the repository', () => {
    const corpora = readdirSync(new URL('corpus', import.meta.url)).toSorted();
    expect(corpora).toEqual(targets.toSorted());
  });

  it.each(targets)(`%s keeps its promises (WAYBILL_FUZZ_SEED=${seed})`, (target) => {
    expect(said.split('\n'), said).toContainEqual(expect.stringMatching(`^ok   ${target}: `));
  });
});
