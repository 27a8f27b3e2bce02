import type { Allocation, TaskState } from '@waybill/model';
import { type AgentDependencies, type AgentParts, buildAgent } from './agent-parts.js';
import type { AllocationGarbageCollector } from './allocations/allocation-garbage-collector.js';
import type { AllocationRunner } from './allocations/allocation-runner.js';
import type { TaskEvent } from './drivers/driver.js';
import type { NodeStanding } from './contact/server-contact.js';

/**
 * Agent is the agent of one machine (agent.md section 1): contact with the servers, pull, push, and one runner per
 * allocation.
 *
 * States: new → restoring → running → stopped. restoring: allocations on disk are restored before contact with the
 * servers. running: three loops that share no queue. stopped: tasks continue without the agent (AG-192), unless
 * stopTasksOnExit. agent-parts.ts builds these parts, and local-allocations.ts holds the allocations. The cost of an
 * idle agent is its heartbeats.
 */
export class Agent {
  private readonly parts: AgentParts;

  constructor(private readonly deps: AgentDependencies) {
    this.parts = buildAgent(deps);
  }

  /** The collector of ended allocations. */
  get collector(): AllocationGarbageCollector {
    return this.parts.collector;
  }

  async start(): Promise<void> {
    const records = await this.deps.records.load();
    await this.reportLeftovers(new Set(records.map(({ alloc }) => alloc.ID)));
    void this.deps.networks?.releaseOthers(new Set(records.map(({ alloc }) => alloc.ID)));
    const { allocations, contact, contactEffects, disconnectStops, collector } = this.parts;
    for (const record of records) await allocations.restore(record);
    for (const runner of allocations.all()) runner.runAllocation();
    contact.start(contactEffects);
    disconnectStops.start();
    collector.start();
  }

  async stop(): Promise<void> {
    const { allocations, contact, disconnectStops, pullLoop, pushLoop, collector } = this.parts;
    contact.stop();
    disconnectStops.stop();
    pullLoop.stop();
    allocations.close();
    await pushLoop.stop();
    await collector.stop();
    if (!this.deps.stopTasksOnExit) return;
    await Promise.all(allocations.all().map((runner) => runner.suspend()));
  }

  /** Reports a change of this machine that matters to the servers. */
  nodeChanged(): void {
    this.parts.contact.nodeChanged();
  }

  /** Adds an event that a driver reports to its task. An event of a task that is not here is dropped. */
  taskEvent({ allocId, task, message, annotations }: TaskEvent): void {
    if (this.runnerOf(allocId)?.emitTaskEvent(task, { ...annotations, driver_message: message }) === true) return;
    this.deps.logger.warn('a driver reports an event of a task that is not here', { alloc: allocId, task });
  }

  /** Handles the news that a process of the servers is gone or has started. */
  serversChanged(): void {
    this.parts.pullLoop.serversChanged();
  }

  /** Returns the allocations here that are not over, in the servers' last version. Cost: O(allocations here). */
  unfinishedAllocations(): Allocation[] {
    return this.allRunners()
      .filter((runner) => !runner.isOver)
      .map((runner) => runner.alloc);
  }

  /** Says whether this machine is registered at the servers. */
  get isRegistered(): boolean {
    return this.parts.contact.isRegistered;
  }

  /** Returns the index of the newest list of allocations that this machine has; 0 before the first. */
  get pulledIndex(): number {
    return this.parts.pullLoop.appliedIndex;
  }

  /** Returns the status of this machine in the servers' last answer. */
  get standing(): NodeStanding | undefined {
    return this.parts.contact.standing;
  }

  stats(): Record<string, number> {
    const runningAllocations = this.unfinishedAllocations().length;
    return { allocations: this.parts.allocations.size, runningAllocations, pendingUpdates: this.parts.pending.size };
  }

  /** Returns all runners, including those of ended allocations. Cost: O(allocations here). */
  allRunners(): AllocationRunner[] {
    return this.parts.allocations.all();
  }

  /** Says whether tasks of the allocation may run here. */
  isLive(allocId: string): boolean {
    return this.parts.allocations.isLive(allocId);
  }

  /** Returns the runner of an allocation, or undefined if it is not here. */
  runnerOf(allocId: string): AllocationRunner | undefined {
    return this.parts.allocations.get(allocId);
  }

  /** Returns the state of a task, or undefined if it is not known here. */
  taskState(allocId: string, task: string): TaskState | undefined {
    return this.parts.allocations.get(allocId)?.clientUpdate().TaskStates[task];
  }

  /**
   * Logs files and running tasks of allocations without a record. The agent's state was lost, and a person has to
   * decide about them (AG-445).
   */
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
}
