import { copyFileSync, createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  type DockerDriver,
  type DockerOptions,
  StartCancelledError,
  type TaskConfig,
  type TaskHandle,
  TaskOutputs,
} from '@waybill/agent';
import { freePort } from '@waybill/embedded';
import { silentLogger } from '@waybill/telemetry';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestAuthority } from '../support/certificates.js';
import { imageFiles, makeImage } from '../support/container-engine.js';
import { type MachineWithEngine, machineWithEngine } from '../support/container-machine.js';
import { ImageRegistry } from '../support/image-registry.js';
import { dockerDriver } from '../support/docker-driver.js';
import { makeTaskDirectories } from '../support/task-directories.js';
import { eventually } from '../support/wait.js';

const IMAGE = 'waybill-test-shell:1';
const started = await machineWithEngine();
const whyNot = typeof started === 'string' ? started : undefined;
/** A restart of an engine on busy cores. */
const DEADLINE_MS = 45_000;

let own: MachineWithEngine;
let dir: string;
let outputs: TaskOutputs;
let driver: DockerDriver;
let starts = 0;

const newDriver = (over: Partial<DockerOptions> = {}): DockerDriver =>
  dockerDriver({ endpoint: own.engine.endpoint, agent: dir, outputs, imageGc: false, ...over });

function aTask(config: Record<string, unknown>, over: Partial<TaskConfig> = {}): TaskConfig {
  const id = `o${++starts}-${process.pid}`;
  const paths = makeTaskDirectories(dir, id);
  return {
    taskId: `${id}/web/1`,
    allocId: id,
    task: 'web',
    user: '',
    config: { image: IMAGE, network_mode: 'none', command: '/bin/sleep', args: ['600'], ...config },
    env: {},
    paths,
    logs: { MaxFiles: 2, MaxFileSizeMB: 1, Disabled: false },
    ...over,
  };
}

async function start(task: TaskConfig, tell?: (message: string) => void): Promise<TaskHandle> {
  const handle = driver.prepare(task);
  driver.validate(task);
  await driver.start(task, handle, tell);
  return handle;
}

/** AG-283: a task that has to stop does not wait for a pull that stalls, and the engine gives the pull up. */
async function endsWithItsTask(registry: ImageRegistry, task: TaskConfig): Promise<void> {
  registry.isStalled = true;
  const stop = new AbortController();
  const starting = driver.start(task, driver.prepare(task), () => {}, stop.signal);
  const refused = expect(starting).rejects.toThrow(StartCancelledError);
  await eventually('the pull stalls', () => registry.stalled > 0, DEADLINE_MS);
  stop.abort();
  await refused;
  await eventually('the engine has given it up', () => registry.stalled === 0, DEADLINE_MS);
  registry.isStalled = false;
}

const inspected = ({ allocId }: TaskConfig) => own.engine.docker.getContainer(`web-${allocId}`).inspect();

describe.skipIf(whyNot !== undefined)(`options of docker (${whyNot ?? 'an own dockerd'})`, () => {
  beforeAll(async () => {
    own = started as MachineWithEngine;
    dir = mkdtempSync(path.join(tmpdir(), 'waybill-docker-options-'));
    outputs = new TaskOutputs(path.join(dir, 'collect'), true, silentLogger);
    await outputs.start();
    await makeImage(own.engine.docker, IMAGE);
    driver = newDriver();
  });
  afterAll(async () => {
    await own?.engine.stop();
    await outputs?.stop();
    await own?.machine.stop();
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  it('AG-281: a hard limit of CPU and single cores, as the kernel has them', async () => {
    const resources = { cpuShares: 250, memoryMB: 32, memoryMaxMB: 0 };
    const task = aTask({ cpu_hard_limit: true, cpuset_cpus: '0', cgroupns: 'host' }, { resources });
    await start(task);
    const { HostConfig, State } = await inspected(task);
    expect(HostConfig).toMatchObject({ CpuPeriod: 100_000, CpuQuota: 25_000, CpusetCpus: '0', CgroupnsMode: 'host' });
    const status = readFileSync(`/proc/${own.machine.pid}/root/proc/${State.Pid}/status`, 'utf8');
    expect(/^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1]).toBe('0');
    await driver.stop(task.taskId, 0, '');
  });

  it('AG-281: an address of its own in a network of the engine', async () => {
    const IPAM = { Config: [{ Subnet: '172.31.7.0/24' }] };
    await own.engine.docker.createNetwork({ Name: 'shop', IPAM, CheckDuplicate: true });
    const task = aTask({ network_mode: 'shop', ipv4_address: '172.31.7.9', network_aliases: ['db'] });
    await start(task);
    const { NetworkSettings } = await inspected(task);
    expect(NetworkSettings.Networks['shop']).toMatchObject({ IPAddress: '172.31.7.9' });
    expect(driver.network(task.taskId)).toMatchObject({ ip: '172.31.7.9' });
    await driver.stop(task.taskId, 0, '');
  });

  it('AG-281: an image from an archive in its local directory, and from nowhere else', async () => {
    const { docker } = own.engine;
    const saved = path.join(dir, 'saved.tar');
    await makeImage(docker, 'loaded:1');
    await pipeline(await docker.getImage('loaded:1').get(), createWriteStream(saved));
    await docker.getImage('loaded:1').remove();
    const task = aTask({ image: 'loaded:1', load: 'image.tar' });
    await expect(start(task)).rejects.toMatchObject({ recoverable: false, message: expect.stringContaining('ENOENT') });
    symlinkSync(saved, path.join(task.paths.localDir, 'link.tar'));
    const escaping = { ...task, config: { ...task.config, load: 'link.tar' } };
    await expect(start(escaping)).rejects.toMatchObject({
      recoverable: false,
      message: expect.stringContaining('escapes the alloc directory'),
    });
    await pipeline(await docker.getImage(IMAGE).get(), createWriteStream(path.join(task.paths.localDir, 'other.tar')));
    const other = { ...task, config: { ...task.config, load: 'other.tar' } };
    await expect(start(other)).rejects.toThrow('the loaded archive has no image "loaded:1"');
    copyFileSync(saved, path.join(task.paths.localDir, 'image.tar'));
    await start(task);
    expect((await inspected(task)).State.Running).toBe(true);
    await driver.stop(task.taskId, 0, '');
  });

  it('AG-281, AG-283: an image of a registry with TLS and a password', async () => {
    const authority = await TestAuthority.create();
    const port = await freePort();
    const host = await own.machine.reach(port);
    const pair = await authority.issue({ addresses: [host.replace(/:.*/, '')] });
    const layer = await imageFiles();
    const auth = { username: 'ci', password: 'secret' };
    const tls = { key: pair.key, certificate: pair.certificate };
    const registry = await ImageRegistry.start({ ...auth, port, ...tls, layer, repository: 'shop/web', tag: '1.4' });
    try {
      own.machine.run(`mount -t tmpfs certificates /etc/docker && mkdir -p /etc/docker/certs.d/${host}`);
      const image = `${host}/shop/web:1.4`;
      await expect(start(aTask({ image, auth }))).rejects.toThrow(/certificate/);
      own.machine.run(`cp ${authority.caFile} /etc/docker/certs.d/${host}/ca.crt`);
      for (const wrong of [{}, { auth: { ...auth, password: 'guessed' } }])
        await expect(start(aTask({ image, ...wrong }))).rejects.toMatchObject({
          recoverable: false,
          message: expect.stringMatching(/failed to pull ".*": .*(no basic auth|authentication required|unauthorized)/),
        });
      expect(registry.served).toEqual([]);
      await endsWithItsTask(registry, aTask({ image, auth }));
      registry.served.length = 0;
      const missing = aTask({ image: `${host}/shop/web:2`, auth });
      await expect(start(missing)).rejects.toMatchObject({ recoverable: false });
      const task = aTask({ image, auth });
      const told: string[] = [];
      await start(task, (message) => told.push(message));
      expect(told).toEqual(['Downloading image']);
      expect((await inspected(task)).State.Running).toBe(true);
      expect(registry.served.filter((one) => one.includes('/blobs/'))).toHaveLength(2);
      await driver.stop(task.taskId, 0, '');
    } finally {
      registry.stop();
      rmSync(authority.directory, { recursive: true, force: true });
    }
  });

  it(
    'AG-107, AG-156: tasks of an engine that restarts end, and others start',
    async () => {
      const trap = 'trap "exit 7" TERM; touch /alloc/up; while :; do sleep 0.1; done';
      const task = aTask({ command: '/bin/sh', args: ['-c', trap] });
      const handle = await start(task);
      const end = driver.wait(task.taskId);
      await eventually('its trap is set', () => existsSync(path.join(task.paths.allocDir, 'up')));
      await own.engine.restart();
      expect(await end).toMatchObject({ ExitCode: 7, OOMKilled: false });
      const another = newDriver();
      expect(await another.recover(handle)).toBe(true);
      expect(await another.wait(task.taskId)).toMatchObject({ ExitCode: 7 });
      const next = aTask({});
      await start(next);
      expect((await inspected(next)).State.Running).toBe(true);
      await driver.stop(next.taskId, 0, '');
    },
    DEADLINE_MS,
  );
});
