import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  BaseClient,
  DriverClient,
  PluginError,
  type PluginLogLine,
  PluginProcess,
  PluginShutDownError,
  type TaskConfigMessage,
} from '@waybill/plugins';
import { isAlive } from '@waybill/processes';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installPlugin, type PLUGIN_PROGRAMS } from '../support/plugins/plugin-files.js';
import { eventually } from '../support/wait.js';

let root: string;
let lines: PluginLogLine[];
/** The calls with their durations in seconds. */
let calls: [method: string, seconds: number][];
const started: PluginProcess[] = [];

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'waybill-plugin-'));
  lines = [];
  calls = [];
});
afterEach(async () => {
  for (const plugin of started.splice(0)) await plugin.kill();
  rmSync(root, { recursive: true, force: true });
});

const log = (line: PluginLogLine): void => void lines.push(line);

async function start(
  program: keyof typeof PLUGIN_PROGRAMS,
  args: readonly string[] = [],
  handshakeTimeoutMs?: number,
): Promise<PluginProcess> {
  const file = installPlugin(root, program, program);
  const observe = (method: string, seconds: number): void => void calls.push([method, seconds]);
  const options = { file, args, env: process.env, dir: path.join(root, `run${args.join('')}`), log, observe };
  const plugin = await PluginProcess.start({ ...options, ...(handshakeTimeoutMs && { handshakeTimeoutMs }) });
  started.push(plugin);
  return plugin;
}

/** Returns the processes of this test's plugins. */
function processesOf(dir: string): string[] {
  const all = execFileSync('ps', ['-eo', 'pid,args', '--no-headers'], { encoding: 'utf8' });
  return all.split('\n').filter((line) => line.includes(dir));
}

function taskOf(config: Uint8Array): TaskConfigMessage {
  const pipe = (name: string): string => path.join(root, name);
  execFileSync('mkdir', ['-p', path.join(root, 'alloc', 'web')]);
  execFileSync('mkfifo', [pipe('out'), pipe('err')]);
  execFileSync('sh', ['-c', `cat '${pipe('out')}' > '${pipe('text')}' & cat '${pipe('err')}' > /dev/null &`], {
    stdio: 'ignore',
  });
  return {
    id: 'a/web/1',
    name: 'web',
    msgpack_driver_config: config,
    env: { ...(process.env as Record<string, string>), GREETING: 'hello' },
    alloc_dir: pipe('alloc'),
    stdout_path: pipe('out'),
    stderr_path: pipe('err'),
    alloc_id: 'a',
  };
}

describe('the process of a plugin', () => {
  it('PG-1, PG-2, PG-5, PG-11, PG-13, PG-125: it shakes hands, answers, and ends without a trace', async () => {
    const plugin = await start('command');
    expect(plugin.record.address.startsWith(path.join(root, 'run/'))).toBe(true);
    const base = new BaseClient(plugin.connection);
    expect(await base.info()).toEqual({ kind: 'driver', name: 'command', version: '0.1.0', apiVersion: 'v0.1.0' });
    expect(await base.configSchema()).toBeUndefined();
    expect(calls.map(([method]) => method)).toEqual(['Check', 'PluginInfo', 'ConfigSchema']);
    expect(calls.every(([, seconds]) => seconds > 0 && seconds < 10)).toBe(true);
    await plugin.end(true);
    expect([existsSync(plugin.record.address), isAlive(plugin.record.process)]).toEqual([false, false]);
    await expect(base.info()).rejects.toThrow(PluginShutDownError);
  });

  it('PG-2, PG-3, PG-4, PG-131: one whose handshake is wrong is refused, and leaves no process', async () => {
    const refusals: Record<string, RegExp> = {
      'prints-first': /Unrecognized remote plugin message: warning: this library is old/,
      exits: /plugin exited before we could connect: exit status 7/,
      'core-version': /incompatible core API version with plugin. Plugin version: 9, Core version: 1/,
      'app-version': /Incompatible API version with plugin. Plugin version: 7, Client versions: \[2\]/,
      certificate: /wants TLS/,
      hangs: /timeout while waiting for plugin to start/,
      'wrong-socket': /nothing listens/,
    };
    const refused = async ([fault, message]: [string, RegExp]): Promise<void> => {
      await expect(start('faulty', [fault], fault === 'hangs' ? 500 : undefined)).rejects.toThrow(message);
      await eventually('no process', () => processesOf(`faulty-plugin.mjs ${fault}`).length === 0);
    };
    await Promise.all(Object.entries(refusals).map(refused));
  });

  it('PG-24: one that lies about its API is refused', async () => {
    const plugin = await start('faulty', ['lies-about-versions']);
    await expect(new BaseClient(plugin.connection).info()).rejects.toThrow(/do not overlap/);
  });

  it.each(['floods-stderr', 'floods-stdout'])('PG-6, PG-8: one that %s with 1 MiB goes on working', async (fault) => {
    const plugin = await start('faulty', [fault]);
    expect((await new BaseClient(plugin.connection).info()).name).toBe('faulty');
  });

  it('PG-12: calls under way end at once when it is killed', async () => {
    const plugin = await start('faulty');
    const driver = new DriverClient(plugin.connection);
    const waits = Array.from({ length: 50 }, (_, n) => driver.waitTask(`t${n}`));
    process.kill(plugin.pid, 'SIGKILL');
    const ends = await Promise.allSettled(waits);
    expect(new Set(ends.map((end) => (end.status === 'rejected' ? end.reason.name : 'answered')))).toEqual(
      new Set(['PluginShutDownError']),
    );
  });

  it('PG-63: a task that it does not know is recognised', async () => {
    const plugin = await start('command');
    const error: unknown = await new DriverClient(plugin.connection).stopTask('none', 0, '').catch((e: unknown) => e);
    expect(error instanceof PluginError && error.isTaskNotFound).toBe(true);
  });

  it('PG-45, PG-56, PG-59, PG-72: a task runs, and is found again by a plugin that was taken up', async () => {
    const plugin = await start('command');
    const driver = new DriverClient(plugin.connection);
    const schema = await driver.taskConfigSchema();
    const config = schema.encode({ command: 'sh', args: ['-c', 'echo $GREETING; sleep 0.5; exit 3'] });
    const { handle } = await driver.startTask(taskOf(config));
    expect(handle!.state).toBe('RUNNING');

    const record = JSON.parse(JSON.stringify(plugin.record)) as typeof plugin.record;
    plugin.connection.close();
    const again = await PluginProcess.reattach(record, log);
    started.push(again);
    const taken = new DriverClient(again.connection);
    await taken.recoverTask(handle!);
    expect((await taken.waitTask('a/web/1')).result).toMatchObject({ exit_code: 3 });
    await eventually('the output', () => readFileSync(path.join(root, 'text'), 'utf8') === 'hello\n');
    await taken.destroyTask('a/web/1', false);
  });

  it('PG-72: a record of a process that is another one now is not taken up, and the other one lives on', async () => {
    const plugin = await start('command');
    const stranger = { ...plugin.record, process: { ...plugin.record.process, startTicks: '1' } };
    await expect(PluginProcess.reattach(stranger, log)).rejects.toThrow(/has ended/);
    const elsewhere = { ...plugin.record, address: path.join(root, 'none') };
    await expect(PluginProcess.reattach(elsewhere, log)).rejects.toThrow(/is gone/);
    expect(isAlive(plugin.record.process)).toBe(true);
  });
});
