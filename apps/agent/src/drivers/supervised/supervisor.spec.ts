import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, open, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asItIs, exitCodeOf, hasStarted, MAX_STARTS_AT_ONCE, processOf, supervise } from './supervisor.js';

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

describe('starts of tasks', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'waybill-starts-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it.each([true, false])(
    'AG-195: an agent that goes before the task runs (%s) is told apart from a task that ended',
    async (goes) => {
      const [runDir, ran] = [path.join(dir, 'run'), path.join(dir, 'ran')];
      const output = await open(path.join(dir, 'output'), 'w');
      const place = async (): Promise<void> => {
        if (goes) throw new Error('gone'); // the pipe closes, as after the kill of the agent
      };
      const start = supervise({
        runDir,
        commandLine: asItIs({ runDir, placed: true }, ['/usr/bin/touch', ran]),
        cwd: dir,
        env: { PATH: '/usr/bin:/bin' },
        stdout: output.fd,
        stderr: output.fd,
        cgroup: { place },
      });
      if (goes) await expect(start).rejects.toThrow('gone');
      else await start;
      await expect.poll(() => exitCodeOf(runDir)).toBe(goes ? 141 : 0);
      expect([await hasStarted(runDir), existsSync(ran)]).toEqual([!goes, !goes]);
      expect(await processOf(runDir)).toMatchObject({ pid: expect.any(Number) });
      await output.close();
    },
  );

  it('so many at once, and the others when one of these has begun or failed', async () => {
    const go = path.join(dir, 'go');
    const output = await open(path.join(dir, 'output'), 'w');
    // The command never reports that it runs, so the start fails when it ends.
    const commandLine: [string, ...string[]] = ['/bin/sh', '-c', `while [ ! -e ${go} ]; do sleep 0.05; done`];
    const spec = { commandLine, cwd: dir, env: { PATH: '/usr/bin:/bin' }, stdout: output.fd, stderr: output.fd };
    const starts = Array.from({ length: MAX_STARTS_AT_ONCE + 1 }, (_, n) =>
      supervise({ ...spec, runDir: path.join(dir, `run-${n}`) }),
    );
    const begun = () => readdirSync(dir).filter((name) => existsSync(path.join(dir, name, 'begun')));
    await expect.poll(() => begun().length).toBe(MAX_STARTS_AT_ONCE);
    expect(begun()).not.toContain(`run-${MAX_STARTS_AT_ONCE}`);
    await writeFile(go, '');
    await Promise.all(starts);
    expect(begun()).toHaveLength(MAX_STARTS_AT_ONCE + 1);
    await output.close();
  });
});
