import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StartError } from './driver.js';
import { findCommand, isExecutable } from './find-command.js';

let machine: string;
const at = (...parts: string[]): string => path.join(machine, ...parts);
beforeAll(() => {
  machine = mkdtempSync(path.join(tmpdir(), 'waybill-find-command-'));
  for (const dir of ['task/local', 'bin', 'private']) mkdirSync(at(dir), { recursive: true });
  for (const file of ['bin/tool', 'private/tool']) writeFileSync(at(file), '#!/bin/sh\n', { mode: 0o755 });
  symlinkSync('circle', at('circle'));
  chmodSync(at('private'), 0);
});
afterAll(() => {
  chmodSync(at('private'), 0o700);
  rmSync(machine, { recursive: true });
});

const find = (command: string, ...dirs: string[]): string =>
  findCommand(
    command,
    { localDir: at('task/local'), taskDir: at('task'), onMachine: (file) => file },
    dirs.map((dir) => at(dir)).join(':'),
  );

describe('AG-273: a command', () => {
  it.each([
    ['is no directory', 'bin/tool'],
    ['does not exist', 'none'],
    ['is a link to itself', 'circle'],
  ])('is looked for further where a directory of $PATH %s', (_what, dir) => {
    expect(find('tool', dir, 'bin')).toBe(at('bin/tool'));
  });

  it('is looked for further where a directory of $PATH may not be searched', (context) => {
    if (process.getuid?.() === 0) return context.skip('root may search every directory');
    expect(find('tool', 'private', 'bin')).toBe(at('bin/tool'));
  });

  it.each([
    ['whose name is too long', () => 'x'.repeat(300)],
    ['behind a circle of links', () => at('circle/tool')],
    ['that does not exist', () => 'none'],
  ])('%s is refused in words', (_what, command) => {
    const looked = () => find(command(), 'bin');
    expect(looked).toThrow(StartError);
    expect(looked).toThrow(`executable file not found: ${command()} is neither`);
  });

  it('is a file that this process may run, no directory', () => {
    expect([at('bin/tool'), at('bin'), at('circle/x'), undefined].map(isExecutable)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});
