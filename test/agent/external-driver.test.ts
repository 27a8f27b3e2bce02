import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ExternalDriver, PluginInstance, QUICK_DEATH_MS, StartCancelledError, type TaskConfig } from '@waybill/agent';
import { systemTimers } from '@waybill/model';
import { BaseClient, PluginProcess, type PluginRecord } from '@waybill/plugins';
import { silentLogger } from '@waybill/telemetry';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installPlugin, type PLUGIN_PROGRAMS } from '../support/plugins/plugin-files.js';
import { eventually } from '../support/wait.js';

let root: string;
/** A clock that tests may move, so that deaths of a plugin are far from one another. */
let movedMs: number;
const opened: ExternalDriver[] = [];

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'waybill-external-'));
  movedMs = 0;
});
afterEach(async () => {
  for (const driver of opened.splice(0)) await driver.close();
  for (const { pid } of running()) process.kill(pid, 'SIGKILL'); // of a test that failed
  rmSync(root, { recursive: true, force: true });
});

const clock = { nowMs: () => Date.now() + movedMs };
const noOutputs = () => Promise.reject(new Error('no task has output here'));

async function openDriver(program: keyof typeof PLUGIN_PROGRAMS, args: readonly string[] = []) {
  const file = installPlugin(root, program, program);
  const launched: PluginProcess[] = [];
  const records = new Map<string, PluginRecord>();
  const plugin = new PluginInstance({
    name: program,
    isDriver: true,
    clock,
    timers: systemTimers,
    logger: silentLogger,
    records: {
      get: (name) => records.get(name),
      put: async (name, record) => void records.set(name, record),
      remove: async (name) => void records.delete(name),
    },
    launch: async () => {
      const process_ = await PluginProcess.start({
        file,
        args,
        env: process.env,
        dir: path.join(root, 'run'),
        log: () => {},
      });
      launched.push(process_);
      const base = new BaseClient(process_.connection);
      await base.setConfig(new Uint8Array(), await base.info(), true);
      return process_;
    },
    reattach: () => Promise.reject(new Error('no process is from before')),
  });
  const outputs = { open: noOutputs, reopen: noOutputs, awaitDrained: async () => {} };
  const driver = new ExternalDriver({
    name: program,
    plugin,
    outputs,
    totalMhz: 1_000,
    clock,
    timers: systemTimers,
    logger: silentLogger,
  });
  opened.push(driver);
  await driver.open();
  return { driver, plugin, launched };
}

function taskOf(n: number, config: Readonly<Record<string, unknown>>): TaskConfig {
  const allocDir = path.join(root, `alloc${n}`);
  const inside = (dir: string): string => path.join(allocDir, dir);
  mkdirSync(inside('web/local'), { recursive: true });
  return {
    taskId: `${n}/web/1`,
    allocId: String(n),
    task: 'web',
    user: '',
    config,
    env: { PATH: process.env['PATH'] ?? '' },
    paths: {
      allocDir: inside('alloc'),
      logsDir: inside('alloc/logs'),
      taskDir: inside('web'),
      localDir: inside('web/local'),
      secretsDir: inside('web/secrets'),
      privateDir: inside('web/private'),
    },
    logs: { MaxFiles: 1, MaxFileSizeMB: 1, Disabled: true },
  };
}

/** Seconds that no other process of this machine sleeps. */
const MARK = String(1_000_000 + process.pid);

/** The processes of this machine whose command line has a text. */
function processesWith(text: string): { pid: number; args: string }[] {
  return execFileSync('ps', ['-eo', 'pid,args', '--no-headers'], { encoding: 'utf8' })
    .split('\n')
    .map((line) => ({ pid: Number.parseInt(line, 10), args: line.trim().replace(/^\d+ /, '') }))
    .filter(({ args }) => args.includes(text));
}
const running = () => processesWith(`/bin/sleep ${MARK}`).filter(({ args }) => args.startsWith('/bin/sleep'));

describe('an external driver', () => {
  it('PG-81, PG-31, PG-76: 100 tasks go on when the plugin is killed 20 times', async () => {
    const { driver, plugin, launched } = await openDriver('command');
    const tasks = Array.from({ length: 100 }, (_, n) => taskOf(n, { command: '/bin/sleep', args: [MARK] }));
    await Promise.all(tasks.map((task) => driver.start(task, driver.prepare(task))));
    const waits = tasks.map(({ taskId }) => driver.wait(taskId));
    let ended = 0;
    for (const wait of waits) void wait.then(() => ended++);
    const seed = Date.now() % 1_000;
    for (let round = 0; round < 20; round++) {
      movedMs += QUICK_DEATH_MS + 1_000;
      const killed = await plugin.runningProcess();
      // Sometimes before all tasks are recovered, sometimes after.
      const { taskId } = tasks[(seed * 7 + round * 13) % tasks.length]!;
      if ((seed + round) % 3 > 0) await driver.signal(taskId, 'SIGCONT');
      process.kill(killed.pid, 'SIGKILL');
      await eventually(`another process (seed ${seed})`, async () => (await plugin.runningProcess()) !== killed);
    }
    const last = await plugin.runningProcess();
    await Promise.all(tasks.map(({ taskId }) => driver.signal(taskId, 'SIGCONT')));
    expect(running().length).toBe(tasks.length);
    expect(ended).toBe(0);
    const alive = processesWith('command-driver.js').filter(({ pid }) => launched.some((one) => one.pid === pid));
    expect(alive.map(({ pid }) => pid)).toEqual([last.pid]);
    await Promise.all(tasks.map(({ taskId }) => driver.stop(taskId, 5_000, 'SIGTERM')));
    expect((await Promise.all(waits)).every(({ Err }) => Err === '')).toBe(true);
    expect(running()).toEqual([]);
  }, 180_000);

  it('PG-140: a start is cancelled when its task is not wanted, and a task that starts all the same is destroyed', async () => {
    const { driver } = await openDriver('faulty', ['starts-slowly']);
    const task = taskOf(1, {});
    const file = (name: string): boolean => existsSync(path.join(task.paths.taskDir, name));
    const unwanted = new AbortController();
    const started = driver.start(task, driver.prepare(task), undefined, unwanted.signal);
    const cancelled = expect(started).rejects.toThrow(StartCancelledError);
    await eventually('the start is under way', () => file('starting'));
    unwanted.abort();
    await cancelled;
    expect([file('starting'), file('runs')]).toEqual([true, false]);
    await expect(driver.wait(task.taskId)).rejects.toThrow(/task not found/);
  });

  it('PG-140: when the agent ends, no task stays whose start was under way', async () => {
    const { driver } = await openDriver('faulty', ['starts-slowly']);
    const task = taskOf(2, {});
    const file = (name: string): boolean => existsSync(path.join(task.paths.taskDir, name));
    const started = driver.start(task, driver.prepare(task));
    const cancelled = expect(started).rejects.toThrow(StartCancelledError);
    await eventually('the start is under way', () => file('starting'));
    await driver.close();
    expect([file('runs'), file('runs-no-more')]).toEqual([false, true]);
    await cancelled;
  });

  it('PG-140: a start that hangs does not hold up the end of its task', async () => {
    const { driver } = await openDriver('faulty', ['hangs-at-start']);
    const unwanted = new AbortController();
    const task = taskOf(3, {});
    const started = driver.start(task, driver.prepare(task), undefined, unwanted.signal);
    const cancelled = expect(started).rejects.toThrow(StartCancelledError);
    unwanted.abort();
    await cancelled;
  });
});
