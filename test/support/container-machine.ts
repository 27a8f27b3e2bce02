import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, createWriteStream, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type Docker from 'dockerode';
import type { Allocation } from '@waybill/model';
import { connect, ENDPOINT, whyNoEngine } from './container-engine.js';
import { NetworkMachine, PLUGIN_DIRECTORY, whyNoNetworks } from './network-machine.js';
import { OwnEngine, whyNoOwnEngine } from './own-engine.js';
import { eventually as within } from './wait.js';
import { CONTROL_PLANE, WaybillProcesses } from './waybill-processes.js';

const AGENT_MAIN = fileURLToPath(new URL('../../apps/agent/dist/main.js', import.meta.url));
export const BUSYBOX = existsSync('/usr/bin/busybox') ? '/usr/bin/busybox' : '/bin/busybox';
/** The start of an agent, of an engine's containers and of a job, on busy cores. */
const DEADLINE_MS = 45_000;
export const eventually: typeof within = (what, condition) => within(what, condition, DEADLINE_MS);
/** The first two numbers of this subnet are those of no other test. */
export const SUBNET = '172.30.65.0/24';

interface NodeStub {
  readonly Status: string;
  readonly Drivers: Readonly<Record<string, { readonly Healthy: boolean }>> | null;
}

/** A machine of the tests with a container engine of its own. */
export interface MachineWithEngine {
  readonly machine: NetworkMachine;
  readonly engine: OwnEngine;
}

/** @returns the reason if there can be no such machine here, which is known only when one was tried */
export async function machineWithEngine(): Promise<MachineWithEngine | string> {
  const whyNot = whyNoNetworks() ?? whyNoOwnEngine();
  if (whyNot !== undefined) return whyNot;
  const machine = await NetworkMachine.start();
  const engine = await OwnEngine.start(machine);
  if (engine instanceof OwnEngine) return { machine, engine };
  await machine.stop();
  return engine;
}

/** A container engine that a test may use, and how the test gives it back. */
export interface TestEngine {
  readonly endpoint: string;
  readonly docker: Docker;
  readonly stop: () => Promise<void>;
}

/** Returns the engine of this machine or, if it has none, one on a machine of the tests; else the reason for none. */
export async function engineOfTests(): Promise<TestEngine | string> {
  const whyNot = await whyNoEngine();
  if (whyNot === undefined) return { endpoint: ENDPOINT, docker: connect(), stop: async () => {} };
  const own = await machineWithEngine();
  if (typeof own === 'string') return `${whyNot}, and ${own}`;
  const { engine, machine } = own;
  const stop = async (): Promise<void> => {
    await engine.stop();
    await machine.stop();
  };
  return { endpoint: engine.endpoint, docker: engine.docker, stop };
}

/**
 * A whole Waybill whose only agent runs on a machine of the tests with a container engine, beside a second machine that
 * reaches the first by a cable. The servers run on the machine of the tests.
 */
export class ContainerMachine {
  private agent: ChildProcess | undefined;

  private constructor(
    readonly waybill: WaybillProcesses,
    readonly machine: NetworkMachine,
    readonly engine: OwnEngine,
    readonly client: NetworkMachine,
    /** Of the machine, as the client reaches it. */
    readonly address: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  /** @param agentEnv what the environment of the agent says besides */
  static async start(
    { machine, engine }: MachineWithEngine,
    agentEnv: NodeJS.ProcessEnv = {},
  ): Promise<ContainerMachine> {
    const [waybill, client] = await Promise.all([
      WaybillProcesses.startTogether({}, CONTROL_PLANE),
      NetworkMachine.start(),
    ]);
    const [address] = machine.connect(client) as [string, string];
    const relay = await machine.reach(Number(new URL(waybill.stack.natsUrl).port));
    chmodSync(waybill.dir, 0o711);
    // Those of the bridge alone: the agent asks each for its version when it starts.
    const plugins = path.join(waybill.dir, 'plugins');
    mkdirSync(plugins);
    for (const name of ['bridge', 'firewall', 'host-local', 'loopback', 'portmap'])
      symlinkSync(path.join(PLUGIN_DIRECTORY, name), path.join(plugins, name));
    machine.run('mkdir -p /run/cni /run/netns');
    const started = new ContainerMachine(waybill, machine, engine, client, address, {
      PATH: process.env['PATH'],
      WAYBILL_NATS_URL: `nats://${relay}`,
      WAYBILL_AGENT_DIR: path.join(waybill.dir, 'agent'),
      WAYBILL_NODE_NAME: 'box',
      WAYBILL_OPS_PORT: '9123',
      WAYBILL_LOG_FORMAT: 'line',
      WAYBILL_CNI_PATH: plugins,
      WAYBILL_BRIDGE_NETWORK_SUBNET: SUBNET,
      WAYBILL_DOCKER_ENDPOINT: 'unix:///run/docker.sock',
      WAYBILL_AGENT_SECRETS_IN_MEMORY: 'false',
      WAYBILL_GC_DISK_USAGE_THRESHOLD: '100',
      WAYBILL_GC_INODE_USAGE_THRESHOLD: '100',
      ...agentEnv,
    });
    await started.startAgent();
    await eventually('the node is ready', () => started.isReady());
    return started;
  }

  async stop(): Promise<void> {
    await this.engine.stop();
    await this.machine.stop();
    await this.client.stop();
    await this.waybill.stop();
  }

  async startAgent(): Promise<void> {
    const log = createWriteStream(path.join(this.waybill.dir, 'agent.log'), { flags: 'a' });
    await once(log, 'open');
    this.agent = spawn(...this.machine.command(process.execPath, ['--enable-source-maps', AGENT_MAIN]), {
      env: this.env,
      stdio: ['ignore', log, log],
    });
  }

  async killAgent(): Promise<void> {
    const { agent } = this;
    if (!agent) throw new Error('no agent runs');
    const ended = once(agent, 'exit');
    NetworkMachine.signal(agent, 'SIGKILL');
    await ended;
  }

  async isReady(): Promise<boolean> {
    const nodes = await this.waybill.api.get<NodeStub[]>('/v1/nodes');
    if (nodes.some(({ Status, Drivers }) => Status === 'ready' && Drivers?.['docker']?.Healthy === true)) return true;
    throw new Error(JSON.stringify(nodes));
  }

  /** What a web server answers; empty: nothing. */
  get(from: NetworkMachine, host: string, port: number, file = '/'): string {
    const answer = from.tries(`printf 'GET ${file} HTTP/1.0\\r\\n\\r\\n' | ${BUSYBOX} nc -w 2 ${host} ${port}`);
    return answer.slice(answer.indexOf('\r\n\r\n') + 4);
  }

  /** Registers the job of a job file. @returns its id */
  async run(hcl: string): Promise<string> {
    const { api } = this.waybill;
    const body = JSON.stringify({ JobHCL: hcl, Canonicalize: true });
    // A job file may be parsed for a second or two, which is not enough where the cores are busy.
    const found = await eventually('the job file is parsed', async () => {
      const parsed = await api.raw('/v1/jobs/parse', { method: 'POST', body });
      const text = await parsed.text();
      if (!parsed.ok) throw new Error(text);
      return JSON.parse(text) as { ID: string };
    });
    await api.register(found);
    return found.ID;
  }

  async newest(id: string): Promise<Allocation> {
    const [newest] = await this.allocations(id);
    if (!newest) throw new Error(`${id} has no allocation`);
    return newest;
  }

  /** Newest first. */
  async allocations(id: string): Promise<Allocation[]> {
    const { api } = this.waybill;
    const stubs = await api.get<Allocation[]>(`/v1/job/${id}/allocations`);
    return Promise.all(stubs.map(({ ID }) => api.get<Allocation>(`/v1/allocation/${ID}`)));
  }

  inStatus(id: string, status: string): Promise<Allocation> {
    return eventually(`${id} is ${status}`, async () => {
      const alloc = await this.newest(id);
      if (alloc.ClientStatus === status) return alloc;
      throw new Error(storyOf([alloc]));
    });
  }

  async isHealthy(id: string): Promise<Allocation> {
    const [alloc] = await this.areHealthy(id, 1);
    return alloc as Allocation;
  }

  /** Allocations that their checks found healthy; the newest first. */
  areHealthy(id: string, count: number): Promise<Allocation[]> {
    return eventually(`${id} is healthy`, async () => {
      const allocs = await this.allocations(id);
      if (allocs.filter(({ DeploymentStatus }) => DeploymentStatus?.Healthy === true).length >= count) return allocs;
      throw new Error(storyOf(allocs));
    });
  }

  async stopped(id: string): Promise<void> {
    await this.waybill.api.stop(id);
    await this.inStatus(id, 'complete');
  }

  /** A file that a task wrote into the directory that the tasks of its allocation share. */
  inside(alloc: Allocation, file: string): string {
    return this.machine.run(`cat ${path.join(this.waybill.dir, 'agent/allocs', alloc.ID, 'alloc/data', file)}`);
  }

  /** Whatever is on the machine for single allocations. */
  private traces(): string[] {
    const { machine, waybill } = this;
    const rules = machine.run('iptables-save').split('\n');
    const links = machine.run('ip -o link').split('\n');
    return [
      ...rules.filter((rule) => /CNI-[0-9a-f]|CNI-DN-|172\.30\.65\.\d+\/32/.test(rule)),
      ...links.filter((link) => link.includes('@if') && link.includes('master nomad')),
      ...machine
        .run(`ls ${path.join(waybill.dir, 'agent/cni')} /run/netns`)
        .split('\n')
        .filter((name) => /[0-9a-f]-/.test(name)),
    ];
  }

  nothingIsLeft(): Promise<true> {
    return eventually('nothing is left', async () => {
      const left = [...(await this.engine.containers()), ...this.traces()];
      if (left.length > 0) throw new Error(left.join('\n'));
      return true;
    });
  }
}

const storyOf = (allocs: readonly Allocation[]): string =>
  JSON.stringify(
    allocs.map(({ ClientStatus, TaskStates }) => [ClientStatus, Object.values(TaskStates ?? {}).map((t) => t.Events)]),
  );
