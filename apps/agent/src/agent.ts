import {
  type Allocation,
  type ClientAllocUpdate,
  type Clock,
  isClientTerminal,
  isServerTerminal,
  isTerminalAllocation,
  type Node,
  rfc3339FromMs,
  type TaskState,
  type Timers,
} from '@waybill/model';
import { type Rpc, updateAllocs } from '@waybill/rpc';
import type { Logger, Tracer } from '@waybill/telemetry';
import { AllocCollector, type DiskUse, type EndedAlloc, type KeepLimits } from './allocs/alloc-collector.js';
import type { AllocDirectories } from './disks/alloc-directories.js';
import type { StorageHost } from './csi/alloc-storage.js';
import type { TaskHook } from './hooks/task-hook.js';
import type { AllocRecord, AllocRecords } from './recovery/alloc-record.js';
import { notRunnable } from './allocs/alloc-report.js';
import type { AllocHost } from './allocs/alloc-host.js';
import { AllocRunner } from './allocs/alloc-runner.js';
import type { Driver } from './drivers/driver.js';
import type { LeftRunning } from './drivers/supervised/left-running.js';
import { Gate } from './gate.js';
import { DEV_RETRY_MS } from './servers/heartbeat-pace.js';
import { giveUp, hasLostItsDirectory, LostDirectoryError } from './recovery/lost-directory.js';
import { type IncomingDisk, PreviousDisk } from './disks/previous-disk.js';
import { type Pulled, type PulledAlloc, PullLoop } from './servers/pull-loop.js';
import { PUSH_RETRY_MS, PushLoop } from './servers/push-loop.js';
import { networkProbe, type Probe } from './services/probe.transport.js';
import { serversRegistry } from './services/service-registry.js';
import { StopsOnDisconnect } from './allocs/stops-on-disconnect.js';
import { type NodeStanding, ServerContact } from './servers/server-contact.js';
import { MAX_KILL_TIMEOUT_MS } from './tasks/task-stop.js';

/** How often in a row an update is sent again because an earlier one was taken in between. */
const MAX_OVERTAKEN = 3;

/** Updates of this machine that it has given up go on arriving; what is true now is sent again later. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
  constructor() {
    super('earlier updates of this machine were taken in between');
  }
}

export interface AgentDependencies {
  readonly rpc: Rpc;
  readonly clock: Clock;
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
  readonly directories: AllocDirectories;
  readonly hooks?: readonly TaskHook[];
  /** How checks look at services; default: over the network. */
  readonly probe?: Probe;
  /** Absent: this machine has no volumes of CSI. */
  readonly csi?: StorageHost;
  /** Absent: disks stay where they are. */
  readonly incomingDisk?: (allocId: string) => IncomingDisk;
  readonly records: AllocRecords;
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
 * Memory: one runner per allocation that the servers have not forgotten. An idle agent costs its heartbeats.
 */
export class Agent {
  private readonly runners = new Map<string, AllocRunner>();
  /** Ids that could not be added, until the servers drop them (AG-42), with what was told of each. */
  private readonly invalid = new Map<string, ClientAllocUpdate | null>();
  private readonly serversAsked = new Gate();
  private readonly contact: ServerContact;
  private readonly pullLoop: PullLoop;
  private readonly pushLoop: PushLoop;
  private readonly disconnectStops: StopsOnDisconnect;
  readonly collector: AllocCollector;
  private readonly host: AllocHost;
  /** Those on their way out of this machine: one that is wanted here again waits for that (AG-402). */
  private readonly leaving = new Map<string, Promise<void>>();
  /** AG-68: told once for each stay in `initializing`. */
  private owesStates = false;
  /** Index of the last update that the servers took, as far as known here (ND-223). */
  private lastTold = 0;
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
    });
    this.pullLoop = new PullLoop({
      rpc,
      timers,
      random,
      logger,
      nodeId,
      secretId,
      dev,
      known: () =>
        [...this.runners.values()].map(({ alloc }) => ({ id: alloc.ID, allocModifyIndex: alloc.AllocModifyIndex })),
      invalid: () => new Set(this.invalid.keys()),
      apply: (pulled) => this.apply(pulled),
    });
    this.pushLoop = new PushLoop({
      timers,
      random,
      logger,
      retryMs: dev ? DEV_RETRY_MS : PUSH_RETRY_MS,
      send: (updates, traceparent) => this.tell(updates, traceparent),
      acknowledged: (id) => this.runners.get(id)?.lastAcknowledged ?? this.invalid.get(id) ?? null,
      acknowledge: (update) => this.acknowledged(update),
    });
    this.collector = new AllocCollector({
      timers,
      logger,
      count: () => this.runners.size,
      ended: () => this.endedAllocs(),
      diskUse: deps.diskUse,
      ...(deps.keepLimits && { limits: deps.keepLimits }),
      remove: (allocId) => this.collect(allocId),
    });
    this.disconnectStops = new StopsOnDisconnect({
      clock,
      timers,
      lastContactMs: () => this.contact.lastSuccessMs,
      allocs: () => [...this.runners.values()].flatMap((runner) => runner.disconnectable ?? []),
      stop: (allocId) => this.stopDisconnected(allocId),
    });
    this.host = {
      ...deps,
      maxKillTimeoutMs: deps.maxKillTimeoutMs ?? MAX_KILL_TIMEOUT_MS,
      probe: deps.probe ?? networkProbe,
      registry: serversRegistry(rpc, deps.node),
      serversAsked: this.serversAsked,
      ...(deps.incomingDisk && {
        previousDisk: new PreviousDisk({ ...deps, incoming: deps.incomingDisk, identity: deps.node }),
      }),
      predecessorsEnded: (alloc) => this.predecessorsEnded(alloc),
      report: (update, traceparent) => this.pushLoop.changed(update, traceparent),
    };
  }

  async start(): Promise<void> {
    const records = await this.deps.records.load();
    await this.reportLeftovers(new Set(records.map(({ alloc }) => alloc.ID)));
    for (const record of records) await this.restore(record);
    for (const runner of this.runners.values()) runner.run();
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
    await Promise.all([...this.runners.values()].map((runner) => runner.suspend()));
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
    return [...this.runners.values()].filter((runner) => !runner.isOver).map((runner) => runner.alloc);
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
    return { allocations: this.runners.size, runningAllocations, pendingUpdates: this.pushLoop.pending };
  }

  /** Everything that is here, what has ended too. O(allocations here). */
  allRunners(): AllocRunner[] {
    return [...this.runners.values()];
  }

  /** The allocation here, if it is. */
  runnerOf(allocId: string): AllocRunner | undefined {
    return this.runners.get(allocId);
  }

  /** The state of a task that is known here. */
  taskState(allocId: string, task: string): TaskState | undefined {
    return this.runners.get(allocId)?.report().TaskStates[task];
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

  /** AG-193 to AG-199. */
  private async restore(record: AllocRecord): Promise<void> {
    const { alloc } = record;
    if (Object.keys(record.tasks).length === 0) return this.deps.records.remove(alloc.ID);
    if (await hasLostItsDirectory(this.deps, record)) {
      this.deps.logger.error('a stored allocation cannot be taken up again: its directory is gone', {
        alloc: alloc.ID,
      });
      await giveUp(this.deps, record);
      return this.refuse(alloc, new LostDirectoryError());
    }
    try {
      this.runners.set(alloc.ID, new AllocRunner(alloc, this.host, record));
    } catch (error) {
      this.deps.logger.error('a stored allocation cannot be taken up again', { alloc: alloc.ID, error });
      this.refuse(alloc, error);
    }
  }

  private apply(pulled: Pulled): void {
    for (const id of pulled.removed) void this.remove(id);
    for (const id of this.invalid.keys()) if (!pulled.listed.has(id)) this.invalid.delete(id);
    for (const one of pulled.changed) this.addOrUpdate(one);
    this.serversAsked.open();
    if (this.owesStates || pulled.isRestored) this.sendAllStates();
    this.pushLoop.release();
    this.collector.look();
    this.disconnectStops.look();
  }

  private addOrUpdate(pulled: PulledAlloc): void {
    const { alloc, traceparent } = pulled;
    const known = this.runners.get(alloc.ID);
    if (known && isServerTerminal(known.alloc) && !isServerTerminal(alloc)) return void this.beginAgain(pulled);
    if (known) return known.update(alloc);
    const told = this.invalid.get(alloc.ID);
    if (told && !isTerminalAllocation(alloc)) return this.pushLoop.sendAgain([told]);
    // AG-46: one that ended elsewhere or before is only remembered by the servers.
    if (isTerminalAllocation(alloc) && !(isServerTerminal(alloc) && isStillCounted(alloc))) {
      this.invalid.set(alloc.ID, null);
      return;
    }
    try {
      const runner = new AllocRunner(alloc, this.host);
      this.runners.set(alloc.ID, runner);
      runner.run(traceparent);
    } catch (error) {
      this.deps.logger.error('an allocation cannot be added', { alloc: alloc.ID, error });
      this.refuse(alloc, error);
    }
  }

  /** OP-47: the servers' state was taken back to before they stopped it. It starts when what is left of it is gone. */
  private async beginAgain(pulled: PulledAlloc): Promise<void> {
    const { ID } = pulled.alloc;
    this.invalid.set(ID, null); // no other list adds it meanwhile
    await this.remove(ID);
    if (this.invalid.delete(ID) && this.pullLoop.isRunning) this.addOrUpdate(pulled);
  }

  /** AG-47. */
  private refuse(alloc: Allocation, error: unknown): void {
    this.invalid.set(alloc.ID, null);
    this.pushLoop.changed(notRunnable(alloc, error, rfc3339FromMs(this.deps.clock.nowMs())), undefined);
  }

  /** Those that may be collected: over, and the servers have confirmed how (AG-215, AG-405). O(allocations here). */
  private endedAllocs(): EndedAlloc[] {
    return [...this.runners].flatMap(([id, runner]) => {
      const known = runner.isOver ? runner.lastAcknowledged : null;
      if (!known || !isClientTerminal(known)) return [];
      const ends = Object.values(known.TaskStates).map(({ FinishedAt }) => (FinishedAt ? Date.parse(FinishedAt) : 0));
      return [{ id, endedAtMs: Math.max(0, ...ends) }];
    });
  }

  /** The servers still list it, so it is remembered as one that is not wanted here again, until they forget it. */
  private async collect(allocId: string): Promise<void> {
    const runner = this.runners.get(allocId);
    if (!runner) return;
    this.runners.delete(allocId);
    this.invalid.set(allocId, runner.lastAcknowledged);
    this.pushLoop.forget(allocId);
    await runner.destroy();
  }

  /** AG-53. One that is not here, or that the servers cannot tell the state of, is not waited for (AG-446). */
  private async predecessorsEnded(alloc: Allocation): Promise<void> {
    await this.leaving.get(alloc.ID);
    const ids = [alloc.PreviousAllocation, ...alloc.PreemptedAllocations];
    const here = ids.flatMap((id) => this.runners.get(id) ?? []);
    await Promise.all(here.filter((one) => one.alloc.ClientStatus !== 'unknown').map((one) => one.ended.opened));
  }

  private async remove(allocId: string): Promise<void> {
    const runner = this.runners.get(allocId);
    if (!runner) return;
    this.runners.delete(allocId);
    this.pushLoop.forget(allocId);
    const left = runner.destroy().catch((error: unknown) => {
      this.deps.logger.error('an allocation could not be removed from this machine', { alloc: allocId, error });
    });
    this.leaving.set(allocId, left);
    await left;
    this.leaving.delete(allocId);
  }

  /** An earlier one of unknown outcome may have been taken meanwhile: the answer names it, and this one comes after it. */
  private async tell(Allocs: readonly ClientAllocUpdate[], traceparent: string | undefined): Promise<void> {
    const { ID: NodeID, SecretID } = this.deps.node();
    for (let attempt = 0; attempt < MAX_OVERTAKEN; attempt++) {
      const update = { NodeID, SecretID, Allocs, After: this.lastTold };
      const { Index, Taken } = await this.deps.rpc.ask(updateAllocs, update, { traceparent });
      this.lastTold = Index;
      if (Taken) return;
    }
    throw new OvertakenError();
  }

  /** AG-171, AG-174: its end is told when the servers are back. */
  private stopDisconnected(allocId: string): void {
    this.deps.logger.warn('an allocation is stopped: the servers have been away for too long', { alloc: allocId });
    void this.runners.get(allocId)?.kill();
  }

  private acknowledged(update: ClientAllocUpdate): void {
    const runner = this.runners.get(update.ID);
    if (runner) runner.acknowledge(update);
    else if (this.invalid.has(update.ID)) this.invalid.set(update.ID, update);
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
    this.pushLoop.sendAgain([...this.runners.values()].map((runner) => runner.report()));
  }
}

/** The servers want it stopped and wait for this agent to say that it is. */
const isStillCounted = (alloc: Allocation): boolean =>
  alloc.ClientStatus === 'pending' || alloc.ClientStatus === 'running' || alloc.ClientStatus === 'unknown';
