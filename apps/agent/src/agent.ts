import type { Allocation, TaskState } from '@waybill/model';
import { type AgentDependencies, type AgentParts, buildAgent } from './agent-parts.js';
import type { AllocationGarbageCollector } from './allocations/allocation-garbage-collector.js';
import type { AllocationRunner } from './allocations/allocation-runner.js';
import type { NodeStanding } from './contact/server-contact.js';

/**
 * The agent of one machine (agent.md section 1): contact with the servers, pull, push, and one runner per allocation.
 *
 * new → restoring → running → stopped. restoring: what is on disk is taken up again, before the servers are asked.
 * running: three loops that share no queue. stopped: tasks go on without the agent (AG-192), unless stopTasksOnExit.
 * agent-parts.ts builds these parts, and local-allocations.ts holds the allocations. An idle agent costs its heartbeats.
 */
export class Agent {
  private readonly parts: AgentParts;

  constructor(private readonly deps: AgentDependencies) {
    this.parts = buildAgent(deps);
  }

  /** Removes what ended allocations left here. */
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

  /** Something of this machine changed that the servers go by. */
  nodeChanged(): void {
    this.parts.contact.nodeChanged();
  }

  /** Word from the servers that one of their processes is gone, or has begun. */
  serversChanged(): void {
    this.parts.pullLoop.serversChanged();
  }

  /** Allocations here that are not over, as the servers last described them. O(allocations here). */
  unfinished(): Allocation[] {
    return this.allRunners()
      .filter((runner) => !runner.isOver)
      .map((runner) => runner.alloc);
  }

  /** Whether the servers count on this machine. */
  get isRegistered(): boolean {
    return this.parts.contact.isRegistered;
  }

  /** What this machine is for the servers, as they said last. */
  get standing(): NodeStanding | undefined {
    return this.parts.contact.standing;
  }

  stats(): Record<string, number> {
    const runningAllocations = this.unfinished().length;
    return { allocations: this.parts.allocations.size, runningAllocations, pendingUpdates: this.parts.pending.size };
  }

  /** Everything that is here, what has ended too. O(allocations here). */
  allRunners(): AllocationRunner[] {
    return this.parts.allocations.all();
  }

  /** Whether tasks of it may run here. */
  isLive(allocId: string): boolean {
    return this.parts.allocations.isLive(allocId);
  }

  /** The allocation here, if it is. */
  runnerOf(allocId: string): AllocationRunner | undefined {
    return this.parts.allocations.get(allocId);
  }

  /** The state of a task that is known here. */
  taskState(allocId: string, task: string): TaskState | undefined {
    return this.parts.allocations.get(allocId)?.report().TaskStates[task];
  }

  /**
   * Logs files and tasks of allocations that no record names: the agent's state was lost, and a person has to decide about
   * them (AG-445).
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
