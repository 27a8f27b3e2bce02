import {
  type Allocation,
  type ClientAllocUpdate,
  type Clock,
  type Node,
  type TaskState,
  type Timers,
  WallClockTimers,
} from '@waybill/model';
import type { Rpc } from '@waybill/rpc';
import type { Logger, Tracer } from '@waybill/telemetry';
import {
  AllocationGarbageCollector,
  type DiskUse,
  type KeepLimits,
} from './allocations/allocation-garbage-collector.js';
import type { AllocationDirectories } from './allocations/disk/allocation-directories.js';
import type { MachineIdentities } from './identities/machine-identities.js';
import type { AllocationNetworks } from './networks/allocation-networks.js';
import type { StorageHost } from './volumes/csi/allocation-storage.js';
import type { TaskHook } from './tasks/task-hook.js';
import type { AllocationRecords } from './allocations/records/allocation-record.js';
import type { AllocationRunner } from './allocations/allocation-runner.js';
import { LocalAllocations } from './allocations/local-allocations.js';
import type { Driver } from './drivers/driver.js';
import type { LeftRunning } from './drivers/supervised/left-running.js';
import { Gate } from './waiting/gate.js';
import { DEV_RETRY_MS } from './contact/heartbeat-pace.js';
import { type IncomingDisk, PreviousDisk } from './allocations/disk/previous-disk.js';
import { type Pulled, PullLoop } from './contact/pull-loop.js';
import { OrderedUpdates } from './contact/ordered-updates.js';
import { PUSH_RETRY_MS, PushLoop } from './contact/push-loop.js';
import { networkProbe, type Probe } from './services/probe.transport.js';
import { serversRegistry } from './services/service-registry.js';
import { StopsOnDisconnect } from './allocations/stops-on-disconnect.js';
import { type NodeStanding, ServerContact } from './contact/server-contact.js';
import { MAX_KILL_TIMEOUT_MS } from './tasks/task-stopper.js';

export interface AgentDependencies {
  readonly rpc: Rpc;
  readonly clock: Clock;
  /** As of `ServerContact`. Absent: the clock is not compared with that of the servers. */
  readonly asksTime?: () => (unixMs: number) => void;
  readonly timers: Timers;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly region: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** The machine as it is now, with its identity. */
  readonly node: () => Node;
  readonly drivers: ReadonlyMap<string, Driver>;
  /** AG-155: a task's own `kill_timeout` is cut to this; default MAX_KILL_TIMEOUT_MS. */
  readonly maxKillTimeoutMs?: number;
  readonly directories: AllocationDirectories;
  /** In the order in which they run; default: none. */
  readonly taskHooks?: readonly TaskHook[];
  /** How checks look at services; default: over the network. */
  readonly probe?: Probe;
  /** Absent: this machine gives its tasks no tokens. */
  readonly identities?: MachineIdentities;
  /** Absent: tasks are in the network of the machine. */
  readonly networks?: Pick<AllocationNetworks, 'prepare' | 'find' | 'release' | 'releaseOthers'>;
  /** Absent: this machine has no volumes of CSI. */
  readonly csi?: StorageHost;
  /** Absent: disks stay where they are. */
  readonly incomingDisk?: (allocId: string) => IncomingDisk;
  readonly records: AllocationRecords;
  /** Tasks that run here, whichever agent has started them; absent: nobody can tell. */
  readonly leftRunning?: () => Promise<readonly LeftRunning[]>;
  readonly diskUse: () => Promise<DiskUse>;
  /** How much ended allocations may take up; default KEEP_LIMITS. */
  readonly keepLimits?: KeepLimits;
  /** Tasks are put down when the agent ends, and every retry is quick (AG-15). */
  readonly stopTasksOnExit: boolean;
}

/**
 * The agent of one machine (agent.md section 1): contact with the servers, pull, push, and one runner per allocation.
 *
 * new → restoring → running → stopped. restoring: what is on disk is taken up again, before the servers are asked.
 * running: three loops that share no queue. stopped: tasks go on without the agent (AG-192), unless stopTasksOnExit.
 * What it does with the allocations is in local-allocations.ts. An idle agent costs its heartbeats.
 */
export class Agent {
  private readonly allocs: LocalAllocations;
  private readonly serversAsked = new Gate();
  private readonly contact: ServerContact;
  private readonly pullLoop: PullLoop;
  private readonly pushLoop: PushLoop;
  private readonly disconnectStops: StopsOnDisconnect;
  readonly collector: AllocationGarbageCollector;
  /** AG-68: told once for each stay in `initializing`. */
  private owesStates = false;
  private wasInitializing = false;

  constructor(private readonly deps: AgentDependencies) {
    const { rpc, clock, timers, random, logger, stopTasksOnExit: dev } = deps;
    const { ID: nodeId, SecretID: secretId } = deps.node();
    this.contact = new ServerContact({
      rpc,
      clock,
      timers,
      random,
      logger,
      node: deps.node,
      dev,
      registered: (index) => this.pullLoop.start(index),
      heard: (status) => this.heard(status),
      asksTime: deps.asksTime,
    });
    this.pullLoop = new PullLoop({
      rpc,
      timers,
      random,
      logger,
      nodeId,
      secretId,
      dev,
      known: () => this.allocs.all().map(({ alloc }) => ({ id: alloc.ID, allocModifyIndex: alloc.AllocModifyIndex })),
      invalid: () => this.allocs.idsSetAside(),
      apply: (pulled) => this.apply(pulled),
    });
    const updates = new OrderedUpdates(rpc, deps.node, () => this.pullLoop.restoredIndex);
    this.pushLoop = new PushLoop({
      timers,
      random,
      logger,
      retryMs: dev ? DEV_RETRY_MS : PUSH_RETRY_MS,
      send: (states, traceparent) => updates.send(states, traceparent),
      acknowledged: (id) => this.allocs.acknowledged(id),
      acknowledge: (update) => this.allocs.acknowledge(update),
    });
    this.collector = new AllocationGarbageCollector({
      timers,
      logger,
      count: () => this.allocs.size,
      ended: () => this.allocs.ended(),
      diskUse: deps.diskUse,
      ...(deps.keepLimits && { limits: deps.keepLimits }),
      remove: (allocId) => this.allocs.collect(allocId),
    });
    const deadlines = new WallClockTimers({ clock, timers });
    this.disconnectStops = new StopsOnDisconnect({
      clock,
      timers: deadlines,
      lastContactMs: () => this.contact.lastSuccessMs,
      allocs: () => this.allocs.all().flatMap((runner) => runner.disconnectable ?? []),
      stop: (allocId) => this.stopDisconnected(allocId),
    });
    const services = {
      ...deps,
      deadlines,
      maxKillTimeoutMs: deps.maxKillTimeoutMs ?? MAX_KILL_TIMEOUT_MS,
      probe: deps.probe ?? networkProbe,
      registry: serversRegistry(rpc, deps.node),
      serversAsked: this.serversAsked,
      ...(deps.incomingDisk && {
        previousDisk: new PreviousDisk({ ...deps, incoming: deps.incomingDisk, identity: deps.node }),
      }),
      report: (update: ClientAllocUpdate, traceparent: string | undefined) =>
        this.pushLoop.changed(update, traceparent),
    };
    this.allocs = new LocalAllocations(services, { push: this.pushLoop, isPulling: () => this.pullLoop.isRunning });
  }

  async start(): Promise<void> {
    const records = await this.deps.records.load();
    await this.reportLeftovers(new Set(records.map(({ alloc }) => alloc.ID)));
    void this.deps.networks?.releaseOthers(new Set(records.map(({ alloc }) => alloc.ID)));
    for (const record of records) await this.allocs.restore(record);
    for (const runner of this.allocs.all()) runner.run();
    this.contact.start();
    this.disconnectStops.start();
    this.collector.start();
  }

  async stop(): Promise<void> {
    this.contact.stop();
    this.disconnectStops.stop();
    this.pullLoop.stop();
    await this.pushLoop.stop();
    await this.collector.stop();
    if (!this.deps.stopTasksOnExit) return;
    await Promise.all(this.allocs.all().map((runner) => runner.suspend()));
  }

  /** Something of this machine changed that the servers go by. */
  nodeChanged(): void {
    this.contact.nodeChanged();
  }

  /** Word from the servers that one of their processes is gone, or has begun. */
  serversChanged(): void {
    this.pullLoop.serversChanged();
  }

  /** Allocations here that are not over, as the servers last described them. O(allocations here). */
  unfinished(): Allocation[] {
    return this.allRunners()
      .filter((runner) => !runner.isOver)
      .map((runner) => runner.alloc);
  }

  /** Whether the servers count on this machine. */
  get isRegistered(): boolean {
    return this.contact.isRegistered;
  }

  /** What this machine is for the servers, as they said last. */
  get standing(): NodeStanding | undefined {
    return this.contact.standing;
  }

  stats(): Record<string, number> {
    const runningAllocations = this.unfinished().length;
    return { allocations: this.allocs.size, runningAllocations, pendingUpdates: this.pushLoop.pending };
  }

  /** Everything that is here, what has ended too. O(allocations here). */
  allRunners(): AllocationRunner[] {
    return this.allocs.all();
  }

  /** Whether tasks of it may run here. */
  isLive(allocId: string): boolean {
    return this.allocs.isLive(allocId);
  }

  /** The allocation here, if it is. */
  runnerOf(allocId: string): AllocationRunner | undefined {
    return this.allocs.get(allocId);
  }

  /** The state of a task that is known here. */
  taskState(allocId: string, task: string): TaskState | undefined {
    return this.allocs.get(allocId)?.report().TaskStates[task];
  }

  /** AG-445: what is left of a state that was lost is nothing to go on with; whose it was is for people to say. */
  private async reportLeftovers(known: ReadonlySet<string>): Promise<void> {
    const allocs = (await this.deps.directories.list()).filter((id) => !known.has(id));
    if (allocs.length > 0)
      this.deps.logger.warn('there are files of allocations that this agent knows nothing of', { allocs });
    for (const { allocId, pid } of (await this.deps.leftRunning?.()) ?? [])
      if (!known.has(allocId))
        this.deps.logger.warn('a task of an allocation that this agent knows nothing of still runs', {
          alloc: allocId,
          pid,
        });
  }

  private apply(pulled: Pulled): void {
    this.allocs.apply(pulled);
    this.serversAsked.open();
    // OP-47: what the servers know of this machine may be from long ago.
    if (pulled.isRestored) this.contact.nodeChanged();
    if (this.owesStates || pulled.isRestored) this.sendAllStates();
    this.pushLoop.release();
    this.collector.collectIfFull();
    this.disconnectStops.stopOverdue();
  }

  /** AG-171, AG-174: its end is told when the servers are back. */
  private stopDisconnected(allocId: string): void {
    this.deps.logger.warn('an allocation is stopped: the servers have been away for too long', { alloc: allocId });
    void this.allocs.get(allocId)?.kill();
  }

  private heard(status: Node['Status']): void {
    const isInitializing = status === 'initializing';
    if (isInitializing && !this.wasInitializing) {
      this.owesStates = true;
      // The pull that AG-68 waits for may be long past; one that was applied since the start is recent enough here,
      // because a read waits at the servers at all times.
      if (this.serversAsked.isOpen) this.sendAllStates();
    }
    this.wasInitializing = isInitializing;
  }

  private sendAllStates(): void {
    this.owesStates = false;
    this.pushLoop.sendAgain(this.allocs.all().map((runner) => runner.report()));
  }
}
