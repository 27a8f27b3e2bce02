import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AlteredProgramError, natsServerPath, natsServerProgram, startNats } from '@waybill/embedded';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/wait.js';

describe('a program that was changed on disk', () => {
  let dir: string;
  let binary: string;

  beforeEach(async () => {
    dir = mkdtempSync(path.join(tmpdir(), 'waybill-altered-'));
    const installed = path.resolve(path.dirname(await natsServerPath()), '..');
    binary = path.join(dir, 'package', 'bin', 'nats-server');
    mkdirSync(path.dirname(binary), { recursive: true });
    for (const name of ['package.json', 'bin/nats-server'])
      copyFileSync(path.join(installed, name), path.join(dir, 'package', name));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  /** In the place of the old one, which may run. */
  function flipBit(): void {
    const content = readFileSync(binary);
    content[9_000_000] = (content[9_000_000] ?? 0) ^ 1;
    writeFileSync(`${binary}.new`, content, { mode: 0o755 });
    renameSync(`${binary}.new`, binary);
  }

  const program = async () => await natsServerProgram({ env: {}, packageDir: path.join(dir, 'package') });

  it('is not executed', async () => {
    flipBit();
    await expect(startNats({ dir: path.join(dir, 'nats'), program: await program() })).rejects.toThrow(
      AlteredProgramError,
    );
  });

  it('is not executed when a server that was killed is to be started again', async () => {
    const lines: string[] = [];
    const nats = await startNats({
      dir: path.join(dir, 'nats'),
      program: await program(),
      restart: true,
      log: (line) => lines.push(line),
    });
    try {
      const killed = nats.pid;
      flipBit();
      process.kill(killed, 'SIGKILL');
      await eventually('the changed program is refused', () => lines.some((line) => line.includes('was not started')));
      flipBit();
      await eventually('the right one is started', () => lines.includes('nats-server is back'));
      expect(nats.pid).not.toBe(killed);
    } finally {
      await nats.stop();
    }
  });
});
