import {
  type Allocation,
  type ClientAllocUpdate,
  isClientTerminal,
  isServerTerminal,
  isTerminalAllocation,
  rfc3339FromMs,
} from '@waybill/model';
import type { AllocationRecord } from './records/allocation-record.js';
import { abandonAllocation } from './records/lost-directory.js';
import { restoreDecision } from './records/restore-decision.js';
import type { KnownAlloc } from '../contact/allocation-diff.js';
import type { ReportingAllocations } from '../contact/state-resender.js';
import type { PendingUpdates } from '../contact/pending-updates.js';
import type { KnownAllocations, Pulled, PulledAlloc, PullReceiver } from '../contact/pull-loop.js';
import type { Acknowledgements } from '../contact/push-loop.js';
import type { CollectableAllocations, EndedAllocation } from './allocation-garbage-collector.js';
import type { AgentServices } from './agent-services.js';
import type { Disconnectable, DisconnectableAllocations } from './stops-on-disconnect.js';
import { AllocationRunner } from './allocation-runner.js';
import { rejectedUpdate } from './client-update.js';

/** Roles are the interfaces through which the loops of the agent use the allocations, one for each loop. */
type Roles = KnownAllocations &
  PullReceiver &
  Acknowledgements &
  ReportingAllocations &
  CollectableAllocations &
  DisconnectableAllocations;

/**
 * LocalAllocations holds the allocations of this machine as the servers want them (agent.md section 6).
 *
 * An id is unknown, has a runner, or is set aside. It is set aside if it could not be added, ended earlier, or was
 * collected; it is then ignored until the servers forget it. unknown → runner: it is wanted here, or restored from
 * disk. runner → leaving → unknown: the servers forgot it. runner → set aside: it was collected. A wanted allocation
 * whose runner was stopped begins again when the old runner has left. The class knows none of the loops: they call it
 * through their interfaces, and it adds the news for the servers to the pending updates. Memory: one runner per
 * allocation that the servers have not forgotten. Cost of a list: its changes.
 */
export class LocalAllocations implements Roles {
  private readonly runners = new Map<string, AllocationRunner>();
  /** The allocations that are set aside (AG-42), with the last report of each. */
  private readonly setAside = new Map<string, ClientAllocUpdate | null>();
  /** The allocations that are being removed. One that is wanted here again waits for the removal (AG-402). */
  private readonly leaving = new Map<string, Promise<void>>();
  /** The servers' last version of allocations that begin again after their removal (OP-47). */
  private readonly returning = new Map<string, PulledAlloc>();
  private readonly agent: AgentServices;
  private isClosed = false;

  constructor(
    agent: Omit<AgentServices, 'predecessorsEnded'>,
    private readonly pending: Pick<PendingUpdates, 'addUpdate' | 'addAgain' | 'removeUpdate'>,
  ) {
    this.agent = { ...agent, predecessorsEnded: (alloc) => this.awaitPredecessors(alloc) };
  }

  get size(): number {
    return this.runners.size;
  }

  /** Returns all runners. Cost: O(allocations here). */
  all(): AllocationRunner[] {
    return [...this.runners.values()];
  }

  get(allocId: string): AllocationRunner | undefined {
    return this.runners.get(allocId);
  }

  /**
   * Says whether its tasks may run here. That includes an allocation that the servers have forgotten and that is being
   * removed.
   */
  isLive(allocId: string): boolean {
    const runner = this.runners.get(allocId);
    return runner ? !runner.isOver : this.leaving.has(allocId);
  }

  knownAllocations(): KnownAlloc[] {
    return this.all().map(({ alloc }) => ({ id: alloc.ID, allocModifyIndex: alloc.AllocModifyIndex }));
  }

  clientUpdates(): ClientAllocUpdate[] {
    return this.all().map((runner) => runner.clientUpdate());
  }

  disconnectable(): Disconnectable[] {
    return this.all().flatMap((runner) => runner.disconnectable ?? []);
  }

  /**
   * Stops an allocation without a request of the servers. They hear of its end when contact is back (AG-171, AG-174).
   */
  stopDisconnected(allocId: string): void {
    this.agent.logger.warn('an allocation is stopped: the servers have been away for too long', { alloc: allocId });
    void this.runners.get(allocId)?.kill();
  }

  /** Closes the list at the end of the agent: no allocation begins again (AG-49). */
  close(): void {
    this.isClosed = true;
  }

  idsSetAside(): ReadonlySet<string> {
    return new Set(this.setAside.keys());
  }

  /** Returns the last state that the servers have confirmed, or null if there is none. */
  acknowledgedUpdate(allocId: string): ClientAllocUpdate | null {
    return this.runners.get(allocId)?.lastAcknowledged ?? this.setAside.get(allocId) ?? null;
  }

  acknowledge(update: ClientAllocUpdate): void {
    const runner = this.runners.get(update.ID);
    if (runner) runner.acknowledge(update);
    else if (this.setAside.has(update.ID)) this.setAside.set(update.ID, update);
  }

  /** Restores an allocation. It does not run before the agent runs all restored allocations (AG-193 to AG-199). */
  async restore(record: AllocationRecord): Promise<void> {
    const { alloc } = record;
    const { records, logger } = this.agent;
    const decision = await restoreDecision(record, this.agent);
    switch (decision.kind) {
      case 'forget':
        return records.remove(alloc.ID);
      case 'give-up':
        logger.error(decision.why, { alloc: alloc.ID, error: decision.error });
        await abandonAllocation(this.agent, record);
        return this.reportFailed(alloc, decision.error);
      case 'take-up':
        this.restoreRunner(record);
    }
  }

  /** Applies a pull: removes allocations first, then updates and adds (AG-44). */
  apply({ removed, listed, changed, isRestored }: Pulled): void {
    for (const id of removed) void this.remove(id);
    for (const one of [this.setAside, this.returning]) for (const id of one.keys()) if (!listed.has(id)) one.delete(id);
    for (const one of changed)
      try {
        this.addOrUpdate(one, isRestored);
      } catch (error) {
        // One failure must not block the other allocations at every pull.
        this.agent.logger.error('an allocation cannot be updated', { alloc: one.alloc.ID, error });
      }
  }

  /**
   * Returns the allocations that may be collected: they are over, and the servers have confirmed their end (AG-215,
   * AG-405). Cost: O(allocations here).
   */
  endedAllocations(): EndedAllocation[] {
    return [...this.runners].flatMap(([id, runner]) => {
      const known = runner.isOver ? runner.lastAcknowledged : null;
      if (!known || !isClientTerminal(known)) return [];
      const ends = Object.values(known.TaskStates).map(({ FinishedAt }) => (FinishedAt ? Date.parse(FinishedAt) : 0));
      return [{ id, endedAtMs: Math.max(0, ...ends) }];
    });
  }

  /**
   * Removes an ended allocation from this machine. The servers still list it, so it stays set aside until they forget
   * it.
   */
  async collect(allocId: string): Promise<void> {
    const runner = this.runners.get(allocId);
    if (!runner) return;
    this.runners.delete(allocId);
    this.setAside.set(allocId, runner.lastAcknowledged);
    this.pending.removeUpdate(allocId);
    await runner.destroy();
  }

  private addOrUpdate(pulled: PulledAlloc, isRestored = false): void {
    const { alloc, traceparent } = pulled;
    if (this.returning.has(alloc.ID)) return void this.returning.set(alloc.ID, pulled);
    const known = this.runners.get(alloc.ID);
    if (known && isServerTerminal(known.alloc) && !isServerTerminal(alloc)) return void this.startAgain(pulled);
    if (known) return known.update(alloc, isRestored);
    const told = this.setAside.get(alloc.ID);
    if (told && !isTerminalAllocation(alloc)) return this.pending.addAgain([told]);
    // An allocation that is terminal already is not started (AG-46).
    if (isTerminalAllocation(alloc) && !(isServerTerminal(alloc) && isStillCounted(alloc))) {
      this.setAside.set(alloc.ID, null);
      return;
    }
    try {
      const runner = new AllocationRunner(alloc, this.agent);
      this.setAside.delete(alloc.ID); // after a restore, the servers may want an allocation from before its end (OP-47)
      this.runners.set(alloc.ID, runner);
      runner.runAllocation(traceparent);
    } catch (error) {
      this.agent.logger.error('an allocation cannot be added', { alloc: alloc.ID, error });
      this.reportFailed(alloc, error);
    }
  }

  /**
   * Starts an allocation again, because the servers' state was restored to a time before they stopped it. It removes
   * the remains of its first run before (OP-47).
   */
  private async startAgain(pulled: PulledAlloc): Promise<void> {
    const { ID } = pulled.alloc;
    this.returning.set(ID, pulled);
    await this.remove(ID);
    const latest = this.returning.get(ID);
    this.returning.delete(ID);
    if (latest && !this.isClosed) this.addOrUpdate(latest);
  }

  private restoreRunner(record: AllocationRecord): void {
    const { alloc } = record;
    try {
      this.runners.set(alloc.ID, new AllocationRunner(alloc, this.agent, record));
    } catch (error) {
      this.agent.logger.error('a stored allocation cannot be taken up again', { alloc: alloc.ID, error });
      this.reportFailed(alloc, error);
    }
  }

  /** Reports an allocation that could not be added as failed, and sets it aside until the servers drop it (AG-47). */
  private reportFailed(alloc: Allocation, error: unknown): void {
    this.setAside.set(alloc.ID, null);
    this.pending.addUpdate(rejectedUpdate(alloc, error, rfc3339FromMs(this.agent.clock.nowMs())), undefined);
  }

  /**
   * Waits until the previous and preempted allocations on this machine have ended (AG-53), including those that are
   * being removed. It does not wait for allocations that are not here or have the status `unknown` (AG-446).
   */
  private async awaitPredecessors(alloc: Allocation): Promise<void> {
    const ids = [alloc.PreviousAllocation, ...alloc.PreemptedAllocations];
    await Promise.all([alloc.ID, ...ids].flatMap((id) => this.leaving.get(id) ?? []));
    const here = ids.flatMap((id) => this.runners.get(id) ?? []);
    await Promise.all(here.filter((one) => one.alloc.ClientStatus !== 'unknown').map((one) => one.ended.opened));
  }

  /** Destroys the runner and the files of an allocation that the servers have forgotten (AG-45). */
  private async remove(allocId: string): Promise<void> {
    const runner = this.runners.get(allocId);
    if (!runner) return;
    this.runners.delete(allocId);
    this.pending.removeUpdate(allocId);
    const left = runner.destroy().catch((error: unknown) => {
      this.agent.logger.error('an allocation could not be removed from this machine', { alloc: allocId, error });
    });
    this.leaving.set(allocId, left);
    await left;
    this.leaving.delete(allocId);
  }
}

/** Says whether the servers want the allocation stopped and still wait for the agent's confirmation. */
const isStillCounted = (alloc: Allocation): boolean =>
  alloc.ClientStatus === 'pending' || alloc.ClientStatus === 'running' || alloc.ClientStatus === 'unknown';
