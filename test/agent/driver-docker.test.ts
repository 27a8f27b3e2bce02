import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type DockerDriver, type DockerOptions, type TaskConfig, type TaskHandle, TaskOutputs } from '@waybill/agent';
import { silentLogger } from '@waybill/telemetry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeImage } from '../support/container-engine.js';
import { engineOfTests, type TestEngine } from '../support/container-machine.js';
import { dockerDriver } from '../support/docker-driver.js';
import { makeTaskDirectories } from '../support/task-directories.js';
import { eventually } from '../support/wait.js';

/** As in apps/agent/src/drivers/docker/strays.ts. */
const STRAY_PERIOD_MS = 5 * 60_000;
const IMAGE = 'waybill-test-shell:1';
const given = await engineOfTests();
const whyNot = typeof given === 'string' ? given : undefined;

let engine: TestEngine;
let dir: string;
let outputs: TaskOutputs;
let driver: DockerDriver;
let starts = 0;

const newDriver = (over: Partial<DockerOptions> = {}): DockerDriver =>
  dockerDriver({ endpoint: engine.endpoint, agent: dir, outputs, ...over });

function aTask(config: Record<string, unknown>, over: Partial<TaskConfig> = {}): TaskConfig {
  const id = `a${++starts}-${process.pid}`;
  const paths = makeTaskDirectories(dir, id);
  return {
    taskId: `${id}/web/1`,
    allocId: id,
    task: 'web',
    user: '',
    config: { image: IMAGE, network_mode: 'none', ...config },
    env: { GREETING: 'hello' },
    paths,
    logs: { MaxFiles: 100, MaxFileSizeMB: 1, Disabled: false },
    ...over,
  };
}

const shell = (line: string, over: Record<string, unknown> = {}) => ({
  command: '/bin/sh',
  args: ['-c', line],
  ...over,
});

const handles: TaskHandle[] = [];

async function started(task: TaskConfig, by = driver): Promise<TaskHandle> {
  const handle = by.prepare(task);
  handles.push(handle);
  await by.start(task, handle);
  return handle;
}

async function said(line: string, config: Record<string, unknown> = {}, over: Partial<TaskConfig> = {}) {
  const task = aTask(shell(line, config), over);
  const handle = await started(task);
  const end = await driver.wait(task.taskId);
  await driver.destroy(handle, false);
  return { text: read(task, 'stdout'), errors: read(task, 'stderr'), end };
}

/** All of its files as one. */
const read = ({ paths }: TaskConfig, type: string): string =>
  readdirSync(paths.logsDir)
    .filter((name) => name.startsWith(`web.${type}.`))
    .toSorted((a, b) => Number(a.split('.').at(-1)) - Number(b.split('.').at(-1)))
    .map((name) => readFileSync(path.join(paths.logsDir, name), 'utf8'))
    .join('');

describe.runIf(whyNot === undefined)(`docker (${whyNot ?? 'a real engine'})`, () => {
  beforeAll(async () => {
    engine = given as TestEngine;
    dir = mkdtempSync(path.join(tmpdir(), 'waybill-docker-'));
    outputs = new TaskOutputs(path.join(dir, 'collect'), true, silentLogger);
    await outputs.start();
    await makeImage(engine.docker, IMAGE);
    driver = newDriver();
  });
  afterAll(async () => {
    for (const handle of handles) await newDriver().destroy(handle, true);
    await engine.stop();
    await outputs.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('says what the engine is, and why not where there is none', async () => {
    expect(await driver.fingerprint()).toMatchObject({
      health: 'healthy',
      attributes: { 'driver.docker': '1', 'driver.docker.os_type': 'linux' },
    });
    const nowhere = newDriver({ endpoint: `unix://${dir}/no-engine.sock` });
    const print = await nowhere.fingerprint();
    expect(print).toMatchObject({ health: 'undetected', attributes: {} });
    expect(print.description).toContain('the container engine cannot be reached');
  });

  it('AG-281, AG-245: runs a command of an image, with its code and all of its output', async () => {
    const { text, errors, end } = await said('echo out; echo err >&2; echo $GREETING; exit 3', { hostname: 'box' });
    expect([text, errors]).toEqual(['out\nhello\n', 'err\n']);
    expect(end).toEqual({ ExitCode: 3, Signal: 0, OOMKilled: false, Err: '' });
  });

  it('AG-281: with a terminal all that it says is its output', async () => {
    const { text, end } = await said('test -t 1 && echo terminal; echo err >&2; exit 2', { tty: true });
    expect([text, end.ExitCode]).toEqual(['terminal\r\nerr\r\n', 2]);
  });

  it('AG-282: is named after its task, says whose it is, and finds the directories of its task', async () => {
    const task = aTask(shell('touch /alloc/a /local/l /secrets/s && id -u && sleep 600'), { user: '1000:1000' });
    await started(task);
    await eventually('it has written', () => read(task, 'stdout') === '1000\n');
    const found = await engine.docker.getContainer(`web-${task.allocId}`).inspect();
    expect(found.Config.Labels).toMatchObject({ 'com.hashicorp.nomad.alloc_id': task.allocId });
    for (const file of ['alloc/a', 'web/local/l', 'web/secrets/s'])
      expect(existsSync(path.join(dir, task.allocId, file))).toBe(true);
    expect(found.HostConfig.CapDrop).toEqual(['ALL']);
    await driver.stop(task.taskId, 0, '');
  });

  it('AG-283: what is left under its name is removed; another start is another container', async () => {
    const task = aTask(shell('sleep 600'));
    const handle = await started(task);
    const first = (await engine.docker.getContainer(`web-${task.allocId}`).inspect()).Id;
    const again = { ...task, taskId: `${task.taskId}-again` };
    await started(again, newDriver());
    expect((await engine.docker.getContainer(`web-${task.allocId}`).inspect()).Id).not.toBe(first);
    expect(await driver.wait(task.taskId)).toMatchObject({ ExitCode: 137 });
    expect(await newDriver().recover(handle)).toBe(false);
  });

  it('AG-106, AG-283: an image that nobody has is no start; one that cannot be asked for now is worth another try', async () => {
    const unknown = aTask({ image: '127.0.0.1:1/no/such:1' });
    await expect(started(unknown)).rejects.toMatchObject({ name: 'StartError', recoverable: true });
    const nowhere = newDriver({ endpoint: `unix://${dir}/no-engine.sock` });
    await expect(started(aTask({}), nowhere)).rejects.toMatchObject({ name: 'StartError', recoverable: true });
    await expect(started(aTask({ command: '/no/such/program' }))).rejects.toMatchObject({ recoverable: false });
  });

  it('AG-440: containers of this agent that no task is are removed after a while, those of others are not', async () => {
    const task = aTask(shell('sleep 600'));
    await started(task);
    const names = async () => (await engine.docker.listContainers({ all: true })).map(({ Names }) => Names[0]);
    let nowMs = 0;
    const inFuture = { monotonic: { nowMs: () => nowMs } };
    const [own, other] = [newDriver(inFuture), newDriver({ ...inFuture, agent: `${dir}/other` })];
    for (let look = 0; look < 2; look++) {
      nowMs += STRAY_PERIOD_MS;
      await driver.fingerprint();
      await other.fingerprint();
      if (look === 0) await own.fingerprint();
    }
    expect(await names()).toContain(`/web-${task.allocId}`);
    await own.fingerprint();
    expect(await names()).not.toContain(`/web-${task.allocId}`);
  });

  it("AG-284: its kill signal if it has one, else the engine's; hard after the timeout", async () => {
    const trap = (name: string) => shell(`trap "echo ${name}; exit 4" ${name}; echo up; while :; do sleep 0.05; done`);
    for (const [signal, name] of [
      ['', 'TERM'],
      ['SIGUSR1', 'USR1'],
    ] as const) {
      const task = aTask(trap(name));
      await started(task);
      await eventually('it is up', () => read(task, 'stdout').startsWith('up'));
      await driver.stop(task.taskId, 10_000, signal);
      expect(await driver.wait(task.taskId)).toMatchObject({ ExitCode: 4 });
      expect(read(task, 'stdout')).toBe(`up\n${name}\n`);
    }
    const deaf = aTask(shell('trap "" INT TERM; echo up; while :; do sleep 0.05; done'));
    await started(deaf);
    await eventually('it is up', () => read(deaf, 'stdout') === 'up\n');
    await driver.stop(deaf.taskId, 200, 'SIGINT');
    expect(await driver.wait(deaf.taskId)).toMatchObject({ ExitCode: 137, Signal: 9 });
    await expect(driver.stop('nobody', 0, '')).rejects.toThrow('task not found');
  });

  it('AG-284: more memory than it was given ends it, with oom_killed', async () => {
    const resources = { cpuShares: 100, memoryMB: 24, memoryMaxMB: 0 };
    const { end } = await said('head -c 60000000 /dev/zero | tail -c 60000000 | wc -c; exit 5', {}, { resources });
    expect(end.OOMKilled).toBe(true);
  });

  it('AG-240, AG-241: a flood of output is in its files, every line once and in order', async () => {
    const { text } = await said('seq 1 100000');
    const lines = text.trimEnd().split('\n');
    expect(lines.length).toBe(100_000);
    expect(lines.every((line, n) => line === String(n + 1))).toBe(true);
  });

  it('AG-242: output goes on at the byte where a collector that was killed had stopped', async () => {
    const task = aTask(
      shell('i=0; while [ $i -lt 4000 ]; do echo "line $i"; i=$((i+1)); [ $((i % 40)) -gt 0 ] || sleep 0.02; done'),
    );
    await started(task);
    for (let lines = 0; lines < 3_000;) {
      await eventually('it says more', () => read(task, 'stdout').split('\n').length > lines + 400);
      lines = read(task, 'stdout').split('\n').length;
      await outputs.stop();
      outputs = new TaskOutputs(path.join(dir, 'collect'), true, silentLogger);
      await outputs.start();
    }
    await driver.wait(task.taskId);
    await eventually('all was written', () => read(task, 'stdout').endsWith('line 3999\n'));
    const lines = read(task, 'stdout').trimEnd().split('\n');
    expect(lines).toEqual(lines.map((_, n) => `line ${n}`));
    expect(lines).toHaveLength(4_000);
    driver = newDriver();
  });

  it('AG-193, AG-443: another agent takes its container up by the handle, running or ended', async () => {
    const task = aTask(shell('while [ ! -e /local/go ]; do sleep 0.02; done; exit 5'));
    const handle = JSON.parse(JSON.stringify(await started(task))) as TaskHandle;
    const next = newDriver();
    expect(await next.recover(handle)).toBe(true);
    expect(await next.recover(handle)).toBe(true);
    writeFileSync(path.join(task.paths.localDir, 'go'), '');
    expect(await next.wait(task.taskId)).toMatchObject({ ExitCode: 5 });
    const last = newDriver();
    expect(await last.recover(handle)).toBe(true);
    expect(await last.wait(task.taskId)).toMatchObject({ ExitCode: 5 });
    await expect(next.destroy({ ...handle, taskId: 'another' }, false)).resolves.toBeUndefined();
    await next.destroy(handle, false);
    expect(await newDriver().recover(handle)).toBe(false);
  });

  it('AG-277: a command in it, with input, code and terminal', async () => {
    const task = aTask(shell('sleep 600'));
    await started(task);
    const session = await driver.exec(task.taskId, task, {
      command: ['sh', '-c', 'echo $GREETING >&2; cat; exit 6'],
      tty: false,
    });
    await session.write(Buffer.from('typed'));
    session.closeInput();
    const parts: string[] = [];
    for (let chunk = await session.read(); chunk; chunk = await session.read())
      parts.push(`${chunk.stream}:${Buffer.from(chunk.data).toString()}`);
    expect(parts.toSorted()).toEqual(['stderr:hello\n', 'stdout:typed']);
    expect(await session.exitCode).toBe(6);
    const terminal = await driver.exec(task.taskId, task, {
      command: ['sh', '-c', 'test -t 0 && echo terminal'],
      tty: true,
    });
    expect(Buffer.from((await terminal.read())?.data ?? '').toString()).toContain('terminal');
    expect(await terminal.exitCode).toBe(0);
    await driver.stop(task.taskId, 0, '');
  });

  it('AG-278: what it uses', async () => {
    const task = aTask(shell('while :; do :; done'));
    await started(task);
    const used = await eventually('it has used something', async () => {
      const { ResourceUsage } = await driver.stats(task.taskId);
      return ResourceUsage.CpuStats.Percent > 1 && ResourceUsage;
    });
    expect(used.MemoryStats.Usage).toBeGreaterThan(0);
    await driver.stop(task.taskId, 0, '');
  });

  it('AG-285, AG-294: paths of the machine are refused unless allowed; volumes of the group are mounted', async () => {
    const volume = path.join(dir, 'volume');
    mkdirSync(volume);
    writeFileSync(path.join(volume, 'data'), 'kept\n');
    expect(() => driver.validate(aTask({ volumes: [`${volume}:/v`] }))).toThrow('volumes are not enabled');
    const allowed = newDriver({ policy: { volumes: true, privileged: true, allowedCapabilities: [] } });
    for (const [by, config, mounts] of [
      [allowed, { volumes: [`${volume}:/v:ro`] }, []],
      [driver, {}, [{ source: volume, destination: '/v', readOnly: true, propagation: '' }]],
    ] as const) {
      const task = aTask(shell('cat /v/data; touch /v/new', config), { mounts });
      await started(task, by);
      await by.wait(task.taskId);
      expect(read(task, 'stdout')).toBe('kept\n');
      expect(read(task, 'stderr')).toContain('Read-only file system');
    }
    const escaping = aTask({ volumes: ['../../../etc:/v'] });
    await expect(started(escaping)).rejects.toThrow('escapes the alloc directory');
  });

  it('AG-297: names are looked up as the group says', async () => {
    const dns = { servers: ['192.0.2.1'], searches: ['example.test'], options: ['ndots:2'] };
    const { text } = await said('cat /etc/resolv.conf', {}, { dns });
    for (const line of ['nameserver 192.0.2.1', 'search example.test', 'options ndots:2']) expect(text).toContain(line);
  });
});
