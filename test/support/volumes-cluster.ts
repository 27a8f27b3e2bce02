import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Allocation, CSIVolume, Node } from '@waybill/model';
import type { Replica } from '@waybill/replica';
import { Infrastructure, readSettings } from '@waybill/service';
import { silentLogger } from '@waybill/telemetry';
import type { ApiClient } from './api-client.js';
import { callsIn } from './csi-plugin/directory-plugin.mjs';
import { Disks, isMounted, unmount } from './csi-plugin/disks.mjs';
import { Faults } from './csi-plugin/faults.mjs';
import { processesOf } from './launcher.js';
import { eventually } from './wait.js';
import { CONTROL_PLANE, WaybillProcesses } from './waybill-processes.js';

const PLUGIN_MAIN = fileURLToPath(new URL('csi-plugin/main.mjs', import.meta.url));
const NS_PER_SECOND = 1_000_000_000;
const CAPABILITY = { AccessMode: 'single-node-writer', AttachmentMode: 'file-system' };

/** An end of a claim, as the log has it. */
export interface Freed {
  readonly volume: string;
  readonly alloc: string;
}

/** One that a plugin has had. */
export interface CallToPlugin {
  /** Unix ms. */
  readonly at: number;
  /** The machine whose plugin was asked. */
  readonly node: string;
}

/**
 * The service of volumes in a process of its own, all others in one, two agents with a storage plugin each, run as a system job, and one provider that
 * both plugins serve: directories below one root. What is asked goes over HTTP; what happened is read from a copy of the
 * state that follows the log.
 */
export class VolumesCluster {
  readonly providerRoot: string;
  readonly faults: Faults;
  readonly disks: Disks;
  /** In the order of the log. */
  readonly freed: Freed[] = [];

  private constructor(
    readonly waybill: WaybillProcesses,
    private readonly infrastructure: Infrastructure,
    readonly state: Replica,
  ) {
    this.providerRoot = path.join(waybill.dir, 'provider');
    mkdirSync(this.providerRoot);
    this.faults = new Faults(this.providerRoot);
    this.disks = new Disks(this.providerRoot);
    state.onApplied(({ changes }) => {
      for (const change of changes) {
        if (change.table !== 'csi_volumes' || !change.before || !change.after) continue;
        const left = holdersOf(change.after);
        for (const alloc of holdersOf(change.before))
          if (!left.has(alloc)) this.freed.push({ volume: change.before.ID, alloc });
      }
    });
  }

  static async start(): Promise<VolumesCluster> {
    const waybill = await WaybillProcesses.startTogether({}, CONTROL_PLANE, ['volumes']);
    const settings = readSettings({ WAYBILL_NATS_URL: waybill.stack.natsUrl, WAYBILL_LOG_LEVEL: 'silent' }, []);
    const infrastructure = new Infrastructure({
      processName: 'test',
      settings,
      logger: silentLogger,
      onFatal: (error) => {
        throw error;
      },
    });
    const cluster = new VolumesCluster(waybill, infrastructure, await infrastructure.replica());
    await Promise.all(['a', 'b'].map((name) => cluster.startAgent(name)));
    await cluster.put('/v1/jobs', { Job: cluster.pluginJob() });
    await cluster.pluginsHealthy(2);
    return cluster;
  }

  async stop(): Promise<void> {
    for (const name of ['a', 'b']) await this.waybill.kill(`agent-${name}`, 'SIGTERM');
    const isTask = (line: string): boolean => line.includes(PLUGIN_MAIN) || line.startsWith('sleep 3600');
    for (const { pid, commandLine } of processesOf(this.waybill.dir))
      if (isTask(commandLine)) process.kill(pid, 'SIGKILL'); // of an agent that was killed
    for (const target of mountsBelow(this.waybill.dir).toReversed()) unmount(target, { removes: false });
    await this.infrastructure.close();
    await this.waybill.stop();
  }

  get api(): ApiClient {
    return this.waybill.api;
  }

  agentDir(name: string): string {
    return path.join(this.waybill.dir, `agent-${name}`);
  }

  startAgent(name: string): Promise<void> {
    const env = { WAYBILL_NODE_NAME: name, WAYBILL_AGENT_DIR: this.agentDir(name) };
    return this.waybill.startService('agent', `agent-${name}`, env);
  }

  node(name: string): Node {
    const node = [...this.state.tables.nodes.all()].find(({ Name }) => Name === name);
    if (!node) throw new Error(`no node ${name}`);
    return node;
  }

  /** Healthy on so many machines, both sides. */
  pluginsHealthy(machines: number, id = 'disks'): Promise<unknown> {
    return eventually(
      `the plugin is healthy on ${machines} machines`,
      () => {
        const plugin = this.state.tables.csi_plugins.get(id);
        return plugin?.NodesHealthy === machines && plugin.ControllersHealthy === machines;
      },
      60_000,
    );
  }

  /** @throws with what the API says */
  async put<T>(route: string, body: unknown): Promise<T> {
    const answer = await this.api.raw(route, { method: 'PUT', body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`PUT ${route}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async delete(route: string): Promise<{ status: number; text: string }> {
    const answer = await this.api.raw(route, { method: 'DELETE' });
    return { status: answer.status, text: await answer.text() };
  }

  /** Has a volume made. Resolves with the provider's name of it. */
  async create(id: string): Promise<string> {
    const Volumes = [
      { ID: id, Name: id, PluginID: 'disks', RequestedCapabilities: [CAPABILITY], Secrets: { key: 's' } },
    ];
    const made = await this.put<{ Volumes: CSIVolume[] }>(`/v1/volume/csi/${id}/create`, { Volumes });
    return made.Volumes[0]?.ExternalID ?? '';
  }

  /** A job whose one task writes its allocation's ID below those that it finds on the volume, and goes on. */
  async run(id: string, volume: string, { count = 1, perAlloc = false } = {}): Promise<void> {
    await this.put('/v1/jobs', {
      Job: {
        ID: id,
        Type: 'service',
        Datacenters: ['*'],
        TaskGroups: [
          {
            Name: 'db',
            Count: count,
            ReschedulePolicy: { Unlimited: true, Delay: 5 * NS_PER_SECOND, DelayFunction: 'constant' },
            Volumes: { data: { Type: 'csi', Source: volume, PerAlloc: perAlloc, ...CAPABILITY } },
            Tasks: [
              {
                Name: 'db',
                Driver: 'raw_exec',
                Config: { command: '/bin/sh', args: ['-c', 'echo $NOMAD_ALLOC_ID >> srv/log; exec sleep 3600'] },
                VolumeMounts: [{ Volume: 'data', Destination: '/srv' }],
                Resources: { CPU: 20, MemoryMB: 16 },
                KillTimeout: NS_PER_SECOND,
              },
            ],
          },
        ],
      },
    });
  }

  drain(node: Node, on: boolean): Promise<unknown> {
    const DrainSpec = on ? { Deadline: 600 * NS_PER_SECOND, IgnoreSystemJobs: false } : null;
    return this.put(`/v1/node/${node.ID}/drain`, { NodeID: node.ID, DrainSpec, MarkEligible: !on });
  }

  /** Its running allocation, other than one before. */
  running(job: string, other = '', deadlineMs = 90_000): Promise<Allocation> {
    return eventually(
      `${job} runs`,
      () =>
        [...this.state.tables.allocs.by('job', `default/${job}`)].find(
          (alloc) => alloc.ClientStatus === 'running' && alloc.DesiredStatus === 'run' && alloc.ID !== other,
        ),
      deadlineMs,
    );
  }

  volume(id: string): CSIVolume | undefined {
    return this.state.tables.csi_volumes.get(`default/${id}`);
  }

  freedOf(alloc: Allocation): number {
    return this.freed.filter((one) => one.alloc === alloc.ID).length;
  }

  /** What the task of the volume wrote. */
  written(disk: string): string[] {
    return readFileSync(path.join(this.disks.directory(disk), 'log'), 'utf8')
      .trim()
      .split('\n');
  }

  /** How many calls of one kind about a disk there were, to all instances of the plugin. */
  calls(method: string, disk: string): number {
    return this.callsTo(method, disk).length;
  }

  /** Calls of one kind about a disk, with the machines that were asked, in the order of time. */
  callsTo(method: string, disk: string): CallToPlugin[] {
    const wanted = [...this.state.tables.nodes.all()].flatMap(({ ID: node }) =>
      callsIn(path.join(this.providerRoot, `calls-${node}.jsonl`))
        .filter((call) => call.method === method && call.volume === disk)
        .map(({ at }) => ({ at, node })),
    );
    return wanted.toSorted((one, other) => one.at - other.at);
  }

  mounts(name: string): string[] {
    return mountsBelow(this.agentDir(name)).filter((target) => isMounted(target) && target.includes('/csi/'));
  }

  private pluginJob(): object {
    return this.pluginJobOf('storage', 'disks', [PLUGIN_MAIN, this.providerRoot, '${node.unique.id}']);
  }

  /** A plugin of both sides on every machine. */
  pluginJobOf(job: string, plugin: string, args: readonly string[]): object {
    const CSIPluginConfig = { ID: plugin, Type: 'monolith' };
    const Task = {
      Name: 'plugin',
      Driver: 'raw_exec',
      Config: { command: process.execPath, args },
      CSIPluginConfig,
      Resources: { CPU: 20, MemoryMB: 64 },
      KillTimeout: NS_PER_SECOND,
    };
    // However often a test kills it.
    const RestartPolicy = { Attempts: 100, Delay: NS_PER_SECOND, Interval: 3_600 * NS_PER_SECOND, Mode: 'delay' };
    const TaskGroups = [{ Name: 'plugin', RestartPolicy, Tasks: [Task] }];
    return { ID: job, Type: 'system', Datacenters: ['*'], TaskGroups };
  }
}

const holdersOf = (volume: CSIVolume): Set<string> =>
  new Set([volume.ReadClaims, volume.WriteClaims, volume.PastClaims].flatMap((claims) => Object.keys(claims)));

function mountsBelow(dir: string): string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((target) => target.startsWith(dir));
}
