import {
  Agent,
  AgentGuard,
  AllocationActions,
  CsiHost,
  CsiModule,
  HostVolumes,
  HostVolumesModule,
  type LeftMount,
  LocalNode,
  pluginAttribute,
  type PluginRegistration,
  RoleHolders,
  serversClaims,
} from '@waybill/agent';
import type { DynamicModule } from '@nestjs/common';
import type { Clock, Node, NodeHostVolume } from '@waybill/model';
import {
  type Call,
  type CallGuard,
  collectAllocs,
  listFiles,
  readFile,
  restartAlloc,
  type RoleTerms,
  RpcError,
  signalAlloc,
  subjectOfCall,
} from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { tracerFor } from '@waybill/telemetry';
import { InvariantError } from '../checks/violation.js';
import type { SimulatedProcess } from '../kernel/simulated-process.js';
import { AgentDisk } from './agent-disk.js';
import { answersOf, guarded } from './call-answers.js';
import { MountTable } from './mount-table.js';
import { storagePlugin } from './storage-plugin.js';
import { PLUGIN_ID } from './storage-provider.js';
import { STATIC_HOST_VOLUME } from '../workload/job-shapes.js';
import { NEVER_PASSES } from '../workload/offered-service.js';
import { DRIVER, TaskHost } from './task-host.js';
import { DIRECTORY_PLUGIN, VolumeDirectories } from './volume-directories.js';
import type { World } from './world.js';

/** What large machines have by their configuration. */
const SCRATCH: NodeHostVolume = { ID: '', Name: STATIC_HOST_VOLUME, Path: '/scratch', ReadOnly: false };

const CSI_DIR = '/csi';

/** Called when a disk has come to an allocation of this machine from another one, with what is on it. */
export type DiskMovedListener = (allocId: string, text: string) => void;

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
 * off → on (agent running ⇄ agent dead) → off. The tasks end with the power, the disk stays, unless it is reinstalled.
 */
export class Machine {
  readonly node: Node;
  /** Its directories for host volumes. */
  readonly volumes = new VolumeDirectories();
  private disk = this.emptyDisk();
  private readonly movedListeners = new Set<DiskMovedListener>();
  private power: SimulatedProcess | undefined;
  private tasks: TaskHost | undefined;
  private mounts = new MountTable();
  /** On its disk. */
  private leftMounts: readonly LeftMount[] = [];
  private roleTerms: RoleTerms | undefined;
  private process: SimulatedProcess | undefined;
  private agent: Agent | undefined;
  private clock: Parameters<SimulatedProcess['setClock']> = [0, 0];

  constructor(
    readonly name: string,
    nodeClass: string,
    /** Its plugin is one of those that the servers reach the provider through. */
    private readonly hasController: boolean,
    private readonly world: World,
  ) {
    const id = world.random.fork(`identity of ${name}`).uuid();
    const described = fixtures.aNode({ ID: id, Name: name, NodeClass: nodeClass });
    const hasScratch = nodeClass === 'large';
    this.node = {
      ...described,
      Status: 'initializing',
      StatusUpdatedAt: 0,
      Attributes: { ...described.Attributes, [pluginAttribute(DIRECTORY_PLUGIN)]: '1.0' },
      HostVolumes: hasScratch ? { [STATIC_HOST_VOLUME]: SCRATCH } : {},
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

  /** What an allocation has on its disk here; undefined: it has none. */
  diskOf(allocId: string): string | undefined {
    return this.disk.textOf(allocId);
  }

  onDiskMoved(listener: DiskMovedListener): void {
    this.movedListeners.add(listener);
  }

  /** What the agent has in memory. */
  get stats(): Record<string, number> {
    return this.agent?.stats() ?? {};
  }

  /** Its wall clock is wrong and goes wrong; whichever agent runs on it. The same arguments as a process takes. */
  setClock(...clock: Parameters<SimulatedProcess['setClock']>): void {
    this.clock = clock;
    this.process?.setClock(...clock);
  }

  crashTask(taskId: string): void {
    this.tasks?.crash(taskId);
  }

  powerOn(): void {
    if (this.power) return;
    this.power = this.world.spawn(`${this.name}-os`);
    this.tasks = new TaskHost(
      this.power,
      () => this.world.tasksFail,
      (allocId) => this.disk.started(allocId),
    );
    this.mounts = new MountTable();
    this.startAgent();
  }

  powerOff(): void {
    this.killAgent();
    this.power?.kill();
    this.power = this.tasks = undefined;
  }

  /** It is set up anew, under its old name: what its agent knew and its allocations kept is gone. */
  reinstall(): void {
    this.powerOff();
    this.disk = this.emptyDisk();
    this.leftMounts = [];
    this.roleTerms = undefined;
    this.powerOn();
  }

  private emptyDisk(): AgentDisk {
    return new AgentDisk({
      taken: (allocId) => this.diskTaken(allocId),
      moved: (allocId, text) => {
        for (const listener of this.movedListeners) listener(allocId, text);
      },
    });
  }

  startAgent(): void {
    const { world, name, disk, node, tasks } = this;
    if (this.process || !tasks) return;
    const process = (this.process = world.spawn(name));
    process.setClock(...this.clock);
    const clock = world.clockOf(process);
    const local = new LocalNode(node);
    const holders = this.roleHoldersFor(process);
    const guard = this.guardFor(process, clock, local, holders);
    const csi = this.storageFor(process, clock, local, guard);
    const hostVolumes = this.hostVolumesFor(process, local, guard);
    const agent = (this.agent = new Agent({
      rpc: world.calls.rpcOf(process),
      clock,
      asksTime: () => clock.asks(),
      hearsTerms: (terms) => holders.updateHolders(terms),
      timers: process,
      newId: process.newId,
      random: process.random.next,
      logger: world.logger(name),
      tracer: () => tracerFor('simulation'),
      region: world.region,
      hostEnv: {},
      node: () => local.current,
      csi,
      probe: async ({ spec }) => ({ ok: this.passes(spec.Name), output: '', statusCode: 0 }),
      drivers: new Map([[DRIVER, tasks.driverFor(process)]]),
      directories: disk.directories,
      records: disk.recordsFor(process),
      incomingDisk: (allocId) => disk.incomingFor(process, allocId),
      diskUse: async () => ({ diskPercent: 10, inodesPercent: 10 }),
      stopTasksOnExit: false,
    }));
    this.answerPeople(process, agent, guard);
    local.onChange(() => agent.nodeChanged());
    void csi.start();
    void hostVolumes.start();
    void agent.start();
  }

  /** What the machine knows of the holders of roles; it stays on its disk. */
  private roleHoldersFor(process: SimulatedProcess): RoleHolders {
    const save = async (terms: RoleTerms): Promise<void> => {
      if (process.isAlive) this.roleTerms = terms;
    };
    return new RoleHolders({ save }, this.world.logger(this.name), this.roleTerms);
  }

  private guardFor(process: SimulatedProcess, clock: Clock, local: LocalNode, holders: RoleHolders): AgentGuard {
    return new AgentGuard({
      rpc: this.world.calls.rpcOf(process),
      clock,
      node: () => local.current,
      holders,
      pulledIndex: () => this.agent?.pulledIndex ?? 0,
    });
  }

  private passes(checkName: string): boolean {
    return checkName !== NEVER_PASSES && !this.world.wire.happens('checkFailure');
  }

  /** What people ask of the machine and its allocations. */
  private answerPeople(process: SimulatedProcess, agent: Agent, guard: CallGuard): void {
    const actions = new AllocationActions(agent, () =>
      Promise.reject(new Error('the use of the host is not simulated')),
    );
    const answer = <Req, Res>(call: Call<Req, Res>, act: (request: Req) => Promise<Res>): void => {
      const answered = guarded(call, guard, (request: unknown) => act(request as Req));
      const subscription = { process, queue: undefined, answer: answered };
      this.world.calls.subscribe(subjectOfCall(call.name, this.node.ID), subscription);
    };
    answer(restartAlloc, (request) => actions.restart(request));
    answer(signalAlloc, (request) => actions.signal(request));
    answer(collectAllocs, (request) => actions.collect(request));
    const ofEnded = <Req extends { AllocID: string; IfEnded?: boolean }>(request: Req): Req => {
      if (request.IfEnded && agent.isLive(request.AllocID)) throw new RpcError('conflict', 'it has not ended here yet');
      return request;
    };
    answer(listFiles, async (request) => this.disk.list(ofEnded(request)));
    answer(readFile, async (request) => this.disk.piece(ofEnded(request)));
  }

  /** What this machine does for volumes, and how the servers reach its plugin. */
  private storageFor(process: SimulatedProcess, clock: Clock, local: LocalNode, guard: CallGuard): CsiHost {
    const { world, name, power, mounts } = this;
    const rpc = world.calls.rpcOf(process);
    const csi = new CsiHost({
      csiDir: CSI_DIR,
      region: world.region,
      registrations: {
        load: async () => (power ? registrationsOf(name, this.hasController) : []),
        save: async () => {},
      },
      leftMounts: {
        load: async () => this.leftMounts,
        save: async (all) => void (this.leftMounts = all),
      },
      places: mounts.places,
      claims: serversClaims(rpc, () => local.current),
      node: local,
      emit: () => {},
      connect: () => storagePlugin(world.provider, { name, power: power ?? process, agent: process, mounts }),
      clock,
      timers: process,
      logger: world.logger(name),
    });
    this.answerServers(process, CsiModule.of(csi), guard);
    return csi;
  }

  private hostVolumesFor(process: SimulatedProcess, local: LocalNode, guard: CallGuard): HostVolumes {
    const { world, name, power, volumes } = this;
    const hostVolumes = new HostVolumes({
      node: local,
      plugins: new Map([[DIRECTORY_PLUGIN, volumes.pluginFor(process, power ?? process, world.provider)]]),
      records: volumes.recordsFor(process),
      exists: async () => true,
      logger: world.logger(name),
    });
    this.answerServers(process, HostVolumesModule.of(hostVolumes), guard);
    return hostVolumes;
  }

  private answerServers(process: SimulatedProcess, module: DynamicModule, guard: CallGuard): void {
    for (const { name, answer } of answersOf(module, guard))
      this.world.calls.subscribe(subjectOfCall(name, this.node.ID), { process, queue: undefined, answer });
  }

  /** A sticky disk goes on to the next allocation, here or elsewhere, only when nobody writes to it any more (AG-224). */
  private diskTaken(allocId: string): void {
    if (this.runs(allocId))
      this.world.simulator.fail(
        new InvariantError('disk-inherited-early', `on ${this.name} allocation ${allocId} still runs`),
      );
  }

  killAgent(): void {
    this.process?.kill();
    this.process = this.agent = undefined;
  }
}
