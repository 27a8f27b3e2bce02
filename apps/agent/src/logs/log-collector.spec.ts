import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { silentLogger } from '@waybill/telemetry';
import { expect, it } from 'vitest';
import { LogCollector } from './log-collector.js';

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
