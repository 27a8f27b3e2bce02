import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { embeddedDataPaths, freePort, startStack, wipe } from '@waybill/embedded';
import { afterEach, beforeEach, describe, expect, it, type TestContext } from 'vitest';
import { type ApiClient, shellJob } from '../support/api-client.js';
import {
  GONE_TIMEOUT_MS,
  killProcessesOf,
  Launcher,
  type LauncherOptions,
  nothingRuns,
  processesOf,
  UP_TIMEOUT_MS,
} from '../support/launcher.js';
import { eventually } from '../support/wait.js';

const LONG_MS = 240_000;
const SERVICES = ['projector', 'broker', 'scheduler', 'nodes', 'deployments', 'volumes', 'api', 'agent'];
const NOBODY = 65_534;

let parent: string;
/** With a space in it, as people's directories have. */
let dataDir: string;
let port: number;
let started: Launcher[];

beforeEach(async () => {
  parent = mkdtempSync(path.join(tmpdir(), 'waybill-launcher-'));
  chmodSync(parent, 0o711);
  dataDir = path.join(parent, 'my data');
  port = await freePort();
  started = [];
});
afterEach(async () => {
  for (const launcher of started) if (launcher.running) launcher.kill('SIGKILL');
  await onlyTasksRun();
  killProcessesOf(parent);
  await nothingRuns(parent);
  if (existsSync(path.join(dataDir, 'version'))) await wipe(dataDir).catch(() => undefined);
  rmSync(parent, { recursive: true, force: true });
});

function launch(over: Partial<LauncherOptions> = {}): Launcher {
  const launcher = new Launcher({ port, dataDir, ...over });
  started.push(launcher);
  return launcher;
}

/** Supervisors of tasks, one for each. */
const tasksOf = (dir: string): number[] =>
  processesOf(dir)
    .filter(({ commandLine }) => commandLine.includes('waybill-task'))
    .map(({ pid }) => pid);

/** Neither launcher nor server nor service: what is left is below a supervisor. */
const onlyTasksRun = (): Promise<unknown> =>
  eventually(
    'nothing but tasks is left',
    () => processesOf(parent).every(({ commandLine }) => !/nats-server|postgres|dist\/main\.js/.test(commandLine)),
    GONE_TIMEOUT_MS,
  );

const linesOf = (file: string): string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];

const NEWBORNS = 8;

/** A cluster of which at least one task is just being started. */
async function withNewborns(): Promise<Launcher> {
  const launcher = await launch({ args: ['--empty'] }).up();
  await launcher.api.register(shellJob('newborn', 'exec sleep 600', { count: NEWBORNS }));
  await eventually('one of them is being started', () => tasksOf(dataDir).length > 0);
  return launcher;
}

interface AllocStub {
  ID: string;
  NodeID: string;
  ClientStatus: string;
  CreateIndex: number;
  TaskStates: Record<string, { StartedAt: string }> | null;
}

const runningAllocs = (api: ApiClient, id: string): Promise<AllocStub[]> =>
  eventually(
    `${id} runs`,
    async () => {
      const found = await api.get<AllocStub[]>(`/v1/job/${id}/allocations`);
      return found.some((alloc) => alloc.ClientStatus === 'running') && found;
    },
    UP_TIMEOUT_MS,
  );

const job = (api: ApiClient, id: string): Promise<{ CreateIndex: number; Version: number; Stop: boolean }> =>
  api.get(`/v1/job/${id}`);

/** Registers a job and returns the index it got. */
async function nextIndex(api: ApiClient, id: string): Promise<number> {
  return (await api.register(shellJob(id, 'exec sleep 600'))).JobModifyIndex;
}

/** It failed before anything ran: one clear line, and nothing behind it. */
async function expectRefusal(launcher: Launcher, text: RegExp): Promise<void> {
  const { code } = await launcher.ended;
  expect(launcher.stderr).toMatch(text);
  expect(launcher.stderr.trim().split('\n'), launcher.stderr).toHaveLength(1);
  expect(code).toBeGreaterThan(0);
  await nothingRuns(parent);
}

describe('npm start', () => {
  it('fills a new database from the log when the old one is damaged', { timeout: LONG_MS }, async () => {
    const first = await launch({ args: ['--empty', '--no-agent'] }).up();
    await first.api.register(shellJob('kept', 'exec sleep 600'));
    const { CreateIndex, Version } = await job(first.api, 'kept');
    first.kill('SIGINT');
    await first.ended;
    const data = path.join(embeddedDataPaths(dataDir).postgresHome, 'data');
    for (const name of readdirSync(path.join(data, 'base')))
      writeFileSync(path.join(data, 'base', name, 'pg_filenode.map'), 'damaged');
    const second = await launch({ args: ['--empty', '--no-agent', '--rebuild-database'] }).up();
    expect(second.stdout + second.stderr).toMatch(/the database was put aside as .*my data\/postgres\.\d{4}-/);
    const kept = await eventually('the log is projected', () => job(second.api, 'kept'), UP_TIMEOUT_MS);
    expect(kept).toMatchObject({ CreateIndex, Version });
    expect(await nextIndex(second.api, 'more')).toBeGreaterThan(CreateIndex);
  });

  it(
    'shows every part ready, the example running and what to try; Ctrl-C stops in order; a second start goes on',
    { timeout: LONG_MS },
    async () => {
      const first = await launch().up();
      for (const part of ['nats', 'postgres', ...SERVICES]) expect(first.stdout).toMatch(new RegExp(`ready +${part} `));
      expect(first.stdout).toMatch(/runs +job hello/);
      expect(first.stdout).toContain(`http://127.0.0.1:${port}`);
      expect(first.stdout).toMatch(
        /Three things to try[^]*job status hello\n[^]*alloc logs -f [0-9a-f]{8}\n[^]*event tail\n/,
      );
      expect(first.stderr).toBe('');
      const [before] = await runningAllocs(first.api, 'hello');
      const { CreateIndex, Version } = await job(first.api, 'hello');
      const index = await nextIndex(first.api, 'one');
      expect(processesOf(dataDir).some(({ commandLine }) => commandLine.includes('hello from'))).toBe(true);
      expect(await first.interrupt()).toEqual({ code: 0, signal: null });
      expect(first.stdout).toContain('Stopped.');
      expect(processesOf(parent)).toEqual([]); // at once, not after a while

      const second = await launch().up();
      expect(await job(second.api, 'hello')).toMatchObject({ CreateIndex, Version });
      expect(await nextIndex(second.api, 'two')).toBeGreaterThan(index);
      await runningAllocs(second.api, 'one');
      const [after, ...others] = await runningAllocs(second.api, 'hello');
      expect(others).toEqual([]);
      expect(after).toMatchObject({ ID: before?.ID, NodeID: before?.NodeID, CreateIndex: before?.CreateIndex });
      expect(processesOf(dataDir).some(({ commandLine }) => commandLine.includes('hello from'))).toBe(true);
      await second.api.stop('hello');
      expect(await second.interrupt()).toEqual({ code: 0, signal: null });

      const third = await launch().up(); // the example was stopped by its owner: it stays so, and nobody waits for it
      expect(third.stdout).toMatch(/ended +job hello/);
      expect(await job(third.api, 'hello')).toMatchObject({ CreateIndex, Stop: true });
      expect(await third.interrupt()).toEqual({ code: 0, signal: null });

      const fresh = await launch({ args: ['--fresh'] }).up();
      const [begun] = await runningAllocs(fresh.api, 'hello');
      expect(begun?.ID).not.toBe(before?.ID);
      expect(begun?.NodeID).not.toBe(before?.NodeID);
      expect(await fresh.interrupt()).toEqual({ code: 0, signal: null });
    },
  );

  it('--empty registers nothing', { timeout: LONG_MS }, async () => {
    const launcher = await launch({ args: ['--empty'] }).up();
    expect(await launcher.api.get('/v1/jobs')).toEqual([]);
    expect(launcher.stdout).toContain('job run examples/hello.nomad.json');
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
  });

  it(
    'AG-192: killed, leaves nothing but its tasks, and the next start has everything and goes on with them',
    { timeout: LONG_MS },
    async () => {
      const first = await launch().up();
      const [before] = await runningAllocs(first.api, 'hello');
      // A batch task that may not be tried again says each time that it is begun.
      const begun = path.join(parent, 'begun');
      const end = path.join(parent, 'end');
      const line = `echo begun >> "${begun}"; until [ -e "${end}" ]; do sleep 0.1; done`;
      await first.api.register(
        shellJob('once', line, { type: 'batch', count: 3, restart: { Attempts: 0, Mode: 'fail' } }),
      );
      await eventually('three are begun', () => linesOf(begun).length === 3);
      const tasks = tasksOf(dataDir);
      first.kill('SIGKILL');
      await first.ended;
      await onlyTasksRun();
      expect(tasksOf(dataDir)).toEqual(tasks);
      const second = await launch().up();
      const [after, ...others] = await runningAllocs(second.api, 'hello');
      expect(after?.ID).toBe(before?.ID);
      expect(others).toEqual([]);
      expect(tasksOf(dataDir)).toEqual(tasks);
      writeFileSync(end, '');
      await eventually('the batch job has ended', async () => {
        const { Status } = await second.api.get<{ Status: string }>('/v1/job/once');
        return Status === 'dead';
      });
      expect(linesOf(begun)).toHaveLength(3);
      expect(await second.interrupt()).toEqual({ code: 0, signal: null });
      expect(processesOf(parent)).toEqual([]);
    },
  );

  it('--fresh after a kill ends the tasks of what it removes', { timeout: LONG_MS }, async () => {
    const first = await launch().up();
    await runningAllocs(first.api, 'hello');
    const tasks = tasksOf(dataDir);
    expect(tasks).not.toEqual([]);
    first.kill('SIGKILL');
    await first.ended;
    const second = await launch({ args: ['--fresh', '--empty'] }).up();
    expect(tasksOf(dataDir)).toEqual([]);
    expect(await second.interrupt()).toEqual({ code: 0, signal: null });
  });

  it('killed while everything ends, can be started at once', { timeout: LONG_MS }, async () => {
    const first = await launch().up();
    first.kill('SIGKILL');
    await first.ended;
    const second = await launch().up();
    await runningAllocs(second.api, 'hello');
    expect(await second.interrupt()).toEqual({ code: 0, signal: null });
  });

  it('stops cleanly when interrupted at any moment of a start', { timeout: LONG_MS }, async () => {
    for (const moment of ['Waybill starts', 'ready  nats', 'ready  postgres', 'ready  projector']) {
      const launcher = await launch().says(moment);
      expect(await launcher.interrupt(), moment).toEqual({ code: 0, signal: null });
      expect(launcher.stderr, moment).toBe('');
      expect(processesOf(parent), moment).toEqual([]);
    }
    const launcher = await launch().up();
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
  });

  it('ends at once at the second Ctrl-C, and nothing outlives it', { timeout: LONG_MS }, async () => {
    const launcher = await launch().up();
    await launcher.api.register(shellJob('stubborn', 'trap "" INT TERM; while true; do sleep 1; done'));
    await runningAllocs(launcher.api, 'stubborn');
    launcher.kill('SIGINT');
    await launcher.says('Stopping');
    const interrupting = setInterval(() => launcher.kill('SIGINT'), 100);
    const { code } = await launcher.ended.finally(() => clearInterval(interrupting));
    expect(code).toBe(130);
    await nothingRuns(parent);
  });

  it('tasks that are just being started do not outlive it', { timeout: LONG_MS }, async () => {
    const launcher = await withNewborns();
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
    expect(processesOf(parent)).toEqual([]);
  });

  it(
    'AG-440: killed while tasks are just being started, the next start has each of them once',
    { timeout: LONG_MS },
    async () => {
      const first = await withNewborns();
      first.kill('SIGKILL');
      await first.ended;
      const second = await launch({ args: ['--empty'] }).up();
      await eventually('all run', async () => (await runningAllocs(second.api, 'newborn')).length === NEWBORNS);
      await eventually('each once', () => tasksOf(dataDir).length === NEWBORNS);
      expect(await second.interrupt()).toEqual({ code: 0, signal: null });
      expect(processesOf(parent)).toEqual([]);
    },
  );

  it('ends in order when nobody reads its output any more', { timeout: LONG_MS }, async () => {
    const main = fileURLToPath(new URL('../../apps/dev/dist/main.js', import.meta.url));
    const line = `"${process.execPath}" "${main}" --port ${port} --data-dir "${dataDir}" | head -n 1`;
    const shell = spawn('/bin/sh', ['-c', line], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] },
    });
    let stderr = '';
    shell.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    await once(shell, 'close');
    expect(stderr).toBe('');
    expect(processesOf(parent)).toEqual([]);
  });
});

describe('npm start -- --processes', () => {
  it('AG-155: a task has its kill_timeout when everything ends, however long', { timeout: LONG_MS }, async () => {
    const launcher = await launch({ args: ['--processes', '--empty'] }).up();
    const end = path.join(parent, 'ended in order');
    const line = `trap 'sleep 22; touch "${end}"; exit 0' INT TERM; while :; do sleep 1; done`;
    await launcher.api.register(shellJob('slow', line, { killTimeoutNs: 28e9 }));
    await runningAllocs(launcher.api, 'slow');
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
    expect(existsSync(end)).toBe(true);
    expect(processesOf(parent)).toEqual([]);
  });

  it('every service killed once comes back, and jobs run afterwards', { timeout: LONG_MS }, async () => {
    const launcher = await launch({ args: ['--processes'] }).up();
    const mainOf = (service: string): string => `apps/${service}/dist/main.js`;
    const pidOf = (service: string): number | undefined =>
      processesOf(dataDir).find(
        ({ commandLine }) => commandLine.startsWith(process.execPath) && commandLine.includes(mainOf(service)),
      )?.pid;
    for (const service of SERVICES) {
      const pid = await eventually(`${service} runs`, () => pidOf(service));
      expect(launcher.stdout).toContain(`pid ${pid}`);
      process.kill(pid, 'SIGKILL');
      await eventually(`${service} is back`, () => {
        const now = pidOf(service);
        return now !== undefined && now !== pid;
      });
    }
    await eventually(
      'the node is ready again',
      async () => (await launcher.api.get<{ Status: string }[]>('/v1/nodes')).some(({ Status }) => Status === 'ready'),
      UP_TIMEOUT_MS,
    );
    await eventually(
      'a job is accepted',
      () => launcher.api.register(shellJob('after', 'exec sleep 600')),
      UP_TIMEOUT_MS,
    );
    await runningAllocs(launcher.api, 'after');
    await runningAllocs(launcher.api, 'hello');
    for (const service of SERVICES) {
      await eventually(`${service} is said to be back`, () => launcher.stdout.includes(`${service} is back`));
      expect(launcher.stdout.match(new RegExp(`${service} failed: .*`, 'g'))).toEqual([
        expect.stringMatching(/failed: killed by signal 9 \(log: .*\); starting it again/),
      ]);
    }
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
    expect(processesOf(parent)).toEqual([]);
  });

  it('stops cleanly when interrupted while the services start', { timeout: LONG_MS }, async () => {
    const launcher = await launch({ args: ['--processes'] }).says(/wait +services +starting/);
    expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
    expect(launcher.stderr).toBe('');
    expect(processesOf(parent)).toEqual([]);
  });

  it('leaves nothing but tasks behind when it is killed', { timeout: LONG_MS }, async () => {
    const launcher = await launch({ args: ['--processes'] }).up();
    const tasks = tasksOf(dataDir);
    expect(tasks).not.toEqual([]);
    launcher.kill('SIGKILL');
    await launcher.ended;
    await onlyTasksRun();
    expect(tasksOf(dataDir)).toEqual(tasks);
  });
});

describe('npm start refuses', () => {
  it('a port that is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
    await expectRefusal(launch(), new RegExp(`Port ${port} .*already taken`));
    other.close();
  });

  it('a data directory of a newer version', async () => {
    mkdirSync(dataDir);
    writeFileSync(path.join(dataDir, 'version'), '{"format":99}');
    await expectRefusal(launch(), /written by a newer Waybill/);
    expect(readdirSync(dataDir)).toEqual(['version']);
  });

  it('a data directory without permission', async (context: TestContext) => {
    const setpriv = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
    const isRoot = process.getuid?.() === 0;
    if (isRoot && spawnSync(setpriv[0]!, [...setpriv.slice(1), process.execPath, '--version']).status !== 0)
      context.skip('no way to be an ordinary user here');
    mkdirSync(dataDir, { mode: 0o555 });
    await expectRefusal(launch(isRoot ? { by: setpriv } : {}), /No permission to write to .*my data/);
  });

  it('a data directory that another launcher uses', { timeout: LONG_MS }, async () => {
    const first = await launch().up();
    const second = launch({ port: await freePort() });
    expect((await second.ended).code).toBeGreaterThan(0);
    expect(second.stderr.trim()).toMatch(/in use by process \d+[^\n]*$/);
    expect((await first.api.raw('/v1/jobs')).status).toBe(200);
    expect(await first.interrupt()).toEqual({ code: 0, signal: null });
  });

  it.each([
    [['--colour'], /unknown option '--colour'/],
    [['--port', 'http'], /a port is a number from 1 to 65535/],
    [['surplus'], /too many arguments/],
  ])('the arguments %j', async (args, text) => {
    await expectRefusal(launch({ args }), text);
    expect(existsSync(dataDir)).toBe(false);
  });

  it.each([
    ['WAYBILL_LEASE_TTL_MS', 'abc'],
    ['WAYBILL_LOG_LEVEL', 'loud'],
    ['WAYBILL_LEASE_TTL', '3000'],
    ['WAYBILL_DATABASE_URL', 'mysql://127.0.0.1/waybill'],
  ])('the environment value %s=%s', async (name, value) => {
    await expectRefusal(launch({ env: { [name]: value } }), new RegExp(name));
    expect(existsSync(dataDir)).toBe(false);
  });

  it('an address that other machines reach, while access control is off', async () => {
    const env = { WAYBILL_HTTP_HOST: '0.0.0.0' };
    await expectRefusal(launch({ env }), /WAYBILL_HTTP_HOST=0\.0\.0\.0 .*--acl.*WAYBILL_HTTP_ALLOW_UNPROTECTED=true/);
    expect(existsSync(dataDir)).toBe(false);
  });

  it.each([
    ['NATS', { WAYBILL_NATS_URL: 'nats://127.0.0.1:1' }],
    ['PostgreSQL', { WAYBILL_DATABASE_URL: 'postgresql://waybill:secret@127.0.0.1:1/waybill' }],
  ])('a %s of its user that does not answer', { timeout: LONG_MS }, async (_, env) => {
    const launcher = launch({ env });
    await expectRefusal(launcher, /projector does not start: .*127\.0\.0\.1:1.*\(log: .*waybill\.log\)/);
    expect(launcher.stdout + launcher.stderr).not.toContain('secret');
    const apart = launch({ env, args: ['--processes'] });
    await expectRefusal(
      apart,
      /failed: exited with code 1: the service cannot go on .*127\.0\.0\.1:1.*\(log: .*\.log\)/,
    );
    expect(apart.stdout + apart.stderr).not.toContain('secret');
  });
});

describe('npm start with servers of its user', () => {
  it('uses them and leaves them running', { timeout: LONG_MS }, async () => {
    const stack = await startStack();
    try {
      const env = { WAYBILL_NATS_URL: stack.natsUrl, WAYBILL_DATABASE_URL: stack.databaseUrl };
      const launcher = await launch({ env }).up();
      expect(launcher.stdout).toMatch(/ready +nats +yours/);
      expect(launcher.stdout).toMatch(/ready +postgres +yours/);
      expect(launcher.stdout).not.toContain(new URL(stack.databaseUrl).password);
      expect(existsSync(path.join(dataDir, 'nats'))).toBe(false);
      expect(existsSync(path.join(dataDir, 'postgres'))).toBe(false);
      const index = await nextIndex(launcher.api, 'one');
      expect(await launcher.interrupt()).toEqual({ code: 0, signal: null });
      const again = await launch({ env }).up();
      expect(await nextIndex(again.api, 'two')).toBeGreaterThan(index);
      expect(await again.interrupt()).toEqual({ code: 0, signal: null });
      expect(readFileSync(path.join(dataDir, 'logs', 'waybill.log'), 'utf8')).not.toContain(
        new URL(stack.databaseUrl).password,
      );
    } finally {
      await stack.stop();
    }
  });
});
