import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { LogCollector, makeCollectDirectory } from './log-collector.js';

it('no task reads the records in the directory, whoever made it', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-collector-'));
  const mode = (folder: string): number => statSync(folder).mode & 0o777;
  chmodSync(dir, 0o755);
  makeCollectDirectory(dir);
  expect(mode(dir)).toBe(0o700);
  makeCollectDirectory(path.join(dir, 'new'));
  expect(mode(path.join(dir, 'new'))).toBe(0o700);
  rmSync(dir, { recursive: true });
});

it('a collector whose directory is deleted says nothing: its words would go to a file that was in it, and wake it again', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-collector-'));
  let said = 0;
  const collector = new LogCollector(dir, { ...silentLogger, warn: () => void said++ });
  await collector.start();
  rmSync(dir, { recursive: true });
  await collector.scan();
  await collector.scan();
  await collector.stop();
  expect(said).toBe(0);
});

it.runIf(process.platform === 'linux')(
  'what stands in the place of a pipe costs no descriptor each time it is looked at',
  async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'waybill-collector-'));
    writeFileSync(path.join(dir, 'run.stdout.fifo'), 'no pipe');
    writeFileSync(path.join(dir, 'run.stdout.json'), JSON.stringify({ dir, base: 'x', maxFiles: 1, maxFileBytes: 1 }));
    const collector = new LogCollector(dir, silentLogger);
    await collector.start();
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    for (let look = 0; look < 10; look++) await collector.scan();
    expect(open()).toBe(before);
    await collector.stop();
    rmSync(dir, { recursive: true });
  },
);
