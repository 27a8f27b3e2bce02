import {
  Agent,
  AllocActions,
  CsiHost,
  CsiModule,
  LocalNode,
  type PluginRegistration,
  serversClaims,
} from '@waybill/agent';
import type { Node } from '@waybill/model';
import { type Call, collectAllocs, restartAlloc, signalAlloc, subjectOfCall } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { tracerFor } from '@waybill/telemetry';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { AgentDisk } from './agent-disk.js';
import { answersOf } from './call-answers.js';
import { MountTable } from './mount-table.js';
import { storagePlugin } from './storage-plugin.js';
import { PLUGIN_ID } from './storage-provider.js';
import { DRIVER, TaskHost } from './task-host.js';
import type { World } from './world.js';

const CSI_DIR = '/csi';

/** The plugin runs here since before the agent began to remember: its task is no part of a run. */
function registrationsOf(name: string, hasController: boolean): PluginRegistration[] {
  const sides = hasController ? (['controller', 'node'] as const) : (['node'] as const);
  return sides.map((side) => ({
    side,
    pluginId: PLUGIN_ID,
    allocId: `plugin on ${name}`,
    socketPath: `${CSI_DIR}/${side}.sock`,
    provider: 'disks.example',
    providerVersion: '1.0',
    mountRoot: CSI_DIR,
    pluginRoot: CSI_DIR,
  }));
}

/**
 * One machine of the cluster with the real agent on it.
 *
 * off → on (agent running ⇄ agent dead) → off. The tasks end with the power, the disk stays.
 */
export class Machine {
  readonly node: Node;
  private readonly disk = new AgentDisk();
  private power: SimulatedProcess | undefined;
  private tasks: TaskHost | undefined;
  private mounts = new MountTable();
  private process: SimulatedProcess | undefined;
  private agent: Agent | undefined;

  constructor(
    readonly name: string,
    nodeClass: string,
    /** Its plugin is one of those that the servers reach the provider through. */
    private readonly hasController: boolean,
    private readonly world: World,
  ) {
    const id = world.random.fork(`identity of ${name}`).uuid();
    this.node = {
      ...fixtures.aNode({ ID: id, Name: name, NodeClass: nodeClass }),
      Status: 'initializing',
      StatusUpdatedAt: 0,
      ComputedClass: '',
    };
  }

  get isOn(): boolean {
    return this.power !== undefined;
  }

  /** The agent's process, while it is alive. */
  get running(): SimulatedProcess | undefined {
    return this.process;
  }

  get runningTasks(): string[] {
    return this.tasks?.running ?? [];
  }

  /** Whether a task of this allocation runs here. */
  runs(allocId: string): boolean {
    return this.tasks?.runs(allocId) === true;
  }

  /** What the agent has in memory. */
  get stats(): Record<string, number> {
    return this.agent?.stats() ?? {};
  }

  crashTask(taskId: string): void {
    this.tasks?.crash(taskId);
  }

  powerOn(): void {
    if (this.power) return;
    this.power = this.world.spawn(`${this.name}-os`);
    this.tasks = new TaskHost(this.power, () => this.world.tasksFail);
    this.mounts = new MountTable();
    this.startAgent();
  }

  powerOff(): void {
    this.killAgent();
    this.power?.kill();
    this.power = this.tasks = undefined;
  }

  startAgent(): void {
    const { world, name, disk, node, tasks } = this;
    if (this.process || !tasks) return;
    const process = (this.process = world.spawn(name));
    const local = new LocalNode(node);
    const csi = this.storageFor(process, local);
    const agent = (this.agent = new Agent({
      rpc: world.calls.rpcOf(process),
      clock: process,
      timers: process,
      newId: process.newId,
      random: process.random.next,
      logger: world.logger(name),
      tracer: () => tracerFor('simulation'),
      region: 'global',
      hostEnv: {},
      node: () => local.current,
      csi,
      probe: async () => ({ ok: !world.wire.happens('checkFailure'), output: '', statusCode: 0 }),
      drivers: new Map([[DRIVER, tasks.driverFor(process)]]),
      directories: disk.directories,
      records: disk.recordsFor(process),
      diskUse: async () => ({ diskPercent: 10, inodesPercent: 10 }),
      stopTasksOnExit: false,
    }));
    this.answerPeople(process, agent);
    local.onChange(() => agent.nodeChanged());
    void csi.start();
    void agent.start();
  }

  /** What people ask of the machine and its allocations. */
  private answerPeople(process: SimulatedProcess, agent: Agent): void {
    const actions = new AllocActions(agent, () => Promise.reject(new Error('the use of the host is not simulated')));
    const answer = <Req, Res>({ name }: Call<Req, Res>, act: (request: Req) => Promise<Res>): void => {
      const subscription = { process, queue: undefined, answer: (request: unknown) => act(request as Req) };
      this.world.calls.subscribe(subjectOfCall(name, this.node.ID), subscription);
    };
    answer(restartAlloc, (request) => actions.restart(request));
    answer(signalAlloc, (request) => actions.signal(request));
    answer(collectAllocs, (request) => actions.collect(request));
  }

  /** What this machine does for volumes, and how the servers reach its plugin. */
  private storageFor(process: SimulatedProcess, local: LocalNode): CsiHost {
    const { world, name, power, mounts } = this;
    const rpc = world.calls.rpcOf(process);
    const csi = new CsiHost({
      csiDir: CSI_DIR,
      region: 'global',
      registrations: {
        load: async () => (power ? registrationsOf(name, this.hasController) : []),
        save: async () => {},
      },
      places: mounts.places,
      claims: serversClaims(rpc, () => local.current),
      node: local,
      emit: () => {},
      connect: () => storagePlugin(world.provider, { name, power: power ?? process, agent: process, mounts }),
      clock: process,
      timers: process,
      logger: world.logger(name),
    });
    for (const { name: call, answer } of answersOf(CsiModule.of(csi)))
      world.calls.subscribe(subjectOfCall(call, local.current.ID), { process, queue: undefined, answer });
    return csi;
  }

  killAgent(): void {
    this.process?.kill();
    this.process = this.agent = undefined;
  }
}
