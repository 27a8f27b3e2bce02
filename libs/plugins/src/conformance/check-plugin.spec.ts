import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { checkPlugin } from './check-plugin.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'waybill-check-'));
  vi.stubEnv('TMPDIR', dir);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const isThere = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

it('PG-3: a plugin that does not shake hands within the time of a check leaves no process and no directory', async () => {
  const pidFile = path.join(dir, 'pid');
  const { results } = await checkPlugin({
    file: '/bin/sh',
    args: ['-c', `echo $$ > ${pidFile}; exec sleep 600`],
    env: { PATH: process.env['PATH'] ?? '' },
    log: () => {},
    config: {},
    timeoutMs: 500,
  });
  expect(results).toEqual([expect.objectContaining({ outcome: 'failed' })]);
  const pid = Number(readFileSync(pidFile, 'utf8'));
  await vi.waitFor(() => expect(isThere(pid)).toBe(false), 5_000);
  expect(await readdir(dir)).toEqual(['pid']);
});
