import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exitCodeOf, processOf } from './supervisor.js';

describe('records of a run', () => {
  let run: string;
  beforeEach(async () => {
    run = await mkdtemp(path.join(tmpdir(), 'waybill-run-'));
  });
  afterEach(() => rm(run, { recursive: true, force: true }));
  const at = (name: string): string => path.join(run, name);

  it('AG-443: what the supervisor has written', async () => {
    await writeFile(at('process'), '12 345 boot end\n');
    await writeFile(at('exit'), '3 end\n');
    expect(await processOf(run)).toEqual({ pid: 12, startTicks: '345', bootId: 'boot' });
    expect(await exitCodeOf(run)).toBe(3);
  });

  it.each<[string, (file: string) => unknown]>([
    ['nothing', () => {}],
    ['a torn one', (file) => writeFile(file, '1')],
    ['an empty one', (file) => writeFile(file, '')],
    ['a directory', (file) => mkdir(file)],
    ['a pipe', (file) => execFileSync('mkfifo', [file])],
    ['a link', (file) => symlink('/etc/hostname', file)],
    ['something without end', (file) => symlink('/dev/zero', file)],
  ])('AG-274: %s is none: the directory may be that of the task’s user', async (_what, make) => {
    await make(at('exit'));
    await make(at('process'));
    expect([await exitCodeOf(run), await processOf(run)]).toEqual([undefined, undefined]);
  });
});
