import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { embeddedDataPaths } from '@waybill/embedded';
import { describe, expect } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import { type Launcher, nothingRuns, processesOf, UP_TIMEOUT_MS } from '../support/launcher.js';
import {
  type AllocStub,
  itAtSite as it,
  type LauncherSite,
  nextIndex,
  runningAllocs,
} from '../support/launcher-site.js';
import { eventually } from '../support/wait.js';

const LONG_MS = 240_000;

const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

const SERVICES = ['projector', 'broker', 'scheduler', 'nodes', 'deployments', 'volumes', 'api', 'agent'];
const NEWBORNS = 8;

/** A cluster of which at least one task is just being started. */
async function withNewborns(site: LauncherSite): Promise<Launcher> {
  const launcher = await site.launch({ args: ['--empty'] }).up();
  await launcher.api.register(shellJob('newborn', 'exec sleep 600', { count: NEWBORNS }));
  await eventually('one of them is being started', () => site.tasks().length > 0);
  return launcher;
}

const job = (api: ApiClient, id: string): Promise<{ CreateIndex: number; Version: number; Stop: boolean }> =>
  api.get(`/v1/job/${id}`);

describe.concurrent('npm start', () => {
  it(
    '--empty registers nothing; a damaged database is filled anew from the log',
    { timeout: LONG_MS },
    async ({ site }) => {
      const first = await site.launch({ args: ['--empty', '--no-agent'] }).up();
      expect(await first.api.get('/v1/jobs')).toEqual([]);
      expect(first.stdout).toContain('job run examples/hello.nomad.json');
      await first.api.register(shellJob('kept', 'exec sleep 600'));
      const { CreateIndex, Version } = await job(first.api, 'kept');
      first.kill('SIGINT');
      await first.ended;
      const data = path.join(embeddedDataPaths(site.dataDir).postgresHome, 'data');
      for (const name of readdirSync(path.join(data, 'base')))
        writeFileSync(path.join(data, 'base', name, 'pg_filenode.map'), 'damaged');
      const second = await site.launch({ args: ['--empty', '--no-agent', '--rebuild-database'] }).up();
      expect(second.stdout + second.stderr).toMatch(/the database was put aside as .*my data\/postgres\.\d{4}-/);
      const kept = await eventually('the log is projected', () => job(second.api, 'kept'), UP_TIMEOUT_MS);
      expect(kept).toMatchObject({ CreateIndex, Version });
      expect(await nextIndex(second.api, 'more')).toBeGreaterThan(CreateIndex);
    },
  );

  it(
    'shows every part ready, the example running and what to try; Ctrl-C stops in order; a second start goes on',
    { timeout: LONG_MS },
    async ({ site }) => {
      const first = await site.launch().up();
      for (const part of ['nats', 'postgres', ...SERVICES]) expect(first.stdout).toMatch(new RegExp(`ready +${part} `));
      expect(first.stdout).toMatch(/runs +job hello/);
      expect(first.stdout).toContain(`http://127.0.0.1:${site.port}`);
      expect(first.stdout).toMatch(
        /Three things to try[^]*job status hello\n[^]*alloc logs -f [0-9a-f]{8}\n[^]*event tail\n/,
      );
      expect(first.stderr).toBe('');
      const [before] = await runningAllocs(first.api, 'hello');
      const { CreateIndex, Version } = await job(first.api, 'hello');
      const index = await nextIndex(first.api, 'one');
      expect(processesOf(site.dataDir).some(({ commandLine }) => commandLine.includes('hello from'))).toBe(true);
      expect(await first.interrupt()).toEqual({ code: 0, signal: null });
      expect(first.stdout).toContain('Stopped.');
      expect(processesOf(site.parent)).toEqual([]); // at once, not after a while

      const second = await site.launch().up();
      expect(await job(second.api, 'hello')).toMatchObject({ CreateIndex, Version });
      expect(await nextIndex(second.api, 'two')).toBeGreaterThan(index);
      await runningAllocs(second.api, 'one');
      const [after, ...others] = await runningAllocs(second.api, 'hello');
      expect(others).toEqual([]);
      expect(after).toMatchObject({ ID: before?.ID, NodeID: before?.NodeID, CreateIndex: before?.CreateIndex });
      expect(processesOf(site.dataDir).some(({ commandLine }) => commandLine.includes('hello from'))).toBe(true);
      await second.api.stop('hello');
      expect(await second.interrupt()).toEqual({ code: 0, signal: null });

      const third = await site.launch().up(); // the example was stopped by its owner: it stays so, and nobody waits for it
      expect(third.stdout).toMatch(/ended +job hello/);
      expect(await job(third.api, 'hello')).toMatchObject({ CreateIndex, Stop: true });
      expect(await third.interrupt()).toEqual({ code: 0, signal: null });

      const fresh = await site.launch({ args: ['--fresh'] }).up();
      const [begun] = await runningAllocs(fresh.api, 'hello');
      expect(begun?.ID).not.toBe(before?.ID);
      expect(begun?.NodeID).not.toBe(before?.NodeID);
      expect(await fresh.interrupt()).toEqual({ code: 0, signal: null });
    },
  );

  it(
    'AG-192: killed, leaves nothing but its tasks, and the next start has everything and goes on with them',
    { timeout: LONG_MS },
    async ({ site }) => {
      const first = await site.launch().up();
      const [before] = await runningAllocs(first.api, 'hello');
      // A batch task that may not be tried again says each time that it is begun.
      const begun = path.join(site.parent, 'begun');
      const end = path.join(site.parent, 'end');
      const line = `echo begun >> "${begun}"; until [ -e "${end}" ]; do sleep 0.1; done`;
      await first.api.register(
        shellJob('once', line, { type: 'batch', count: 3, restart: { Attempts: 0, Mode: 'fail' } }),
      );
      await eventually('three are begun', () => linesOf(begun).length === 3);
      await eventually('and known to run', async () => {
        const allocs = await first.api.get<AllocStub[]>('/v1/job/once/allocations');
        return allocs.every(({ ClientStatus }) => ClientStatus === 'running');
      });
      const tasks = site.tasks();
      first.kill('SIGKILL');
      await first.ended;
      await site.onlyTasksRun();
      expect(site.tasks()).toEqual(tasks);
      const second = await site.launch().up();
      const [after, ...others] = await runningAllocs(second.api, 'hello');
      expect(after?.ID).toBe(before?.ID);
      expect(others).toEqual([]);
      expect(site.tasks()).toEqual(tasks);
      writeFileSync(end, '');
      await eventually('the batch job has ended', async () => {
        const { Status } = await second.api.get<{ Status: string }>('/v1/job/once');
        return Status === 'dead';
      });
      expect(linesOf(begun)).toHaveLength(3);
      expect(await second.interrupt()).toEqual({ code: 0, signal: null });
      expect(processesOf(site.parent)).toEqual([]);
    },
  );

  it(
    'killed, can be started at once; --fresh after a kill ends the tasks of what it removes',
    { timeout: LONG_MS },
    async ({ site }) => {
      const first = await site.launch().up();
      first.kill('SIGKILL');
      await first.ended;
      const second = await site.launch().up();
      await runningAllocs(second.api, 'hello');
      expect(site.tasks()).not.toEqual([]);
      second.kill('SIGKILL');
      await second.ended;
      const third = await site.launch({ args: ['--fresh', '--empty'] }).up();
      expect(site.tasks()).toEqual([]);
      expect(await third.interrupt()).toEqual({ code: 0, signal: null });
    },
  );

  it('stops cleanly when interrupted at any moment of a start', { timeout: LONG_MS }, async ({ site }) => {
    for (const moment of ['Waybill starts', 'ready  nats', 'ready  postgres', 'ready  projector']) {
      const launcher = await site.launch().says(moment);
      expect(await launcher.interrupt(), moment).toEqual({ code: 0, signal: null });
      expect(launcher.stderr, moment).toBe('');
      expect(processesOf(site.parent), moment).toEqual([]);
    }
    const launcher = await site.launch().up();
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
  });

  it('ends at once at the second Ctrl-C, and nothing outlives it', { timeout: LONG_MS }, async ({ site }) => {
    const launcher = await site.launch().up();
    await launcher.api.register(shellJob('stubborn', 'trap "" INT TERM; while true; do sleep 1; done'));
    await runningAllocs(launcher.api, 'stubborn');
    launcher.kill('SIGINT');
    await launcher.says('Stopping');
    const interrupting = setInterval(() => launcher.kill('SIGINT'), 100);
    const { code } = await launcher.ended.finally(() => clearInterval(interrupting));
    expect(code).toBe(130);
    await nothingRuns(site.parent);
  });

  it('tasks that are just being started do not outlive it', { timeout: LONG_MS }, async ({ site }) => {
    const launcher = await withNewborns(site);
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
    expect(processesOf(site.parent)).toEqual([]);
  });

  it(
    'AG-440: killed while tasks are just being started, the next start has each of them once',
    { timeout: LONG_MS },
    async ({ site }) => {
      const first = await withNewborns(site);
      first.kill('SIGKILL');
      await first.ended;
      const second = await site.launch({ args: ['--empty'] }).up();
      await eventually('all run', async () => (await runningAllocs(second.api, 'newborn')).length === NEWBORNS);
      await eventually('each once', () => site.tasks().length === NEWBORNS);
      expect(await second.interrupt()).toEqual({ code: 0, signal: null });
      expect(processesOf(site.parent)).toEqual([]);
    },
  );

  it('ends in order when nobody reads its output any more', { timeout: LONG_MS }, async ({ site }) => {
    const main = fileURLToPath(new URL('../../apps/dev/dist/main.js', import.meta.url));
    const line = `"${process.execPath}" "${main}" --port ${site.port} --data-dir "${site.dataDir}" | head -n 1`;
    const shell = spawn('/bin/sh', ['-c', line], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] },
    });
    let stderr = '';
    shell.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    await once(shell, 'close');
    expect(stderr).toBe('');
    expect(processesOf(site.parent)).toEqual([]);
  });
});
