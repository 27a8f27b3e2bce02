import { type ClientAllocUpdate, isClientTerminal, rfc3339FromMs } from '@waybill/model';
import type { AllocationContext } from './allocation-context.js';
import type { OrderedAllocationHooks } from './allocation-hook.js';
import type { AllocationTasks } from './allocation-tasks.js';
import { type ClientState, EXPIRED, statusOfTasks, withEnds } from './client-status.js';
import { networkStatusOf } from './client-update.js';
import type { AllocationRecord } from './records/allocation-record.js';

/**
 * AllocationReporter writes the state of one allocation to disk and then reports it to the servers, always in this
 * order (AG-191).
 *
 * The phase decides. A suspended allocation is written but not reported. A removed allocation is not written any more.
 * Cost of a change: O(tasks of the group) and one write of its record.
 */
export class AllocationReporter {
  constructor(
    private readonly context: AllocationContext,
    private readonly tasks: AllocationTasks,
    private readonly hooks: OrderedAllocationHooks,
    private acknowledged: ClientAllocUpdate | null,
  ) {}

  /** The last state that the servers have confirmed. */
  get lastAcknowledged(): ClientAllocUpdate | null {
    return this.acknowledged;
  }

  /** Records the state that the servers have confirmed, on disk too, so that no agent sends it again (AG-65). */
  acknowledge(update: ClientAllocUpdate): void {
    this.acknowledged = update;
    if (this.context.isReported) void this.save();
  }

  get isClientTerminal(): boolean {
    return isClientTerminal(this.status());
  }

  status(): ClientState {
    if (this.context.isExpired && this.tasks.areDead) return { ClientStatus: 'complete', ClientDescription: EXPIRED };
    return statusOfTasks(this.tasks.states());
  }

  /** Returns its state for the servers. */
  update(): ClientAllocUpdate {
    const { context } = this;
    const { alloc, wantedGroup } = context;
    const now = rfc3339FromMs(context.agent.clock.nowMs());
    const status = this.status();
    // An allocation of a deployment that fails before its health is decided is unhealthy (AG-76).
    if (status.ClientStatus === 'failed' && alloc.DeploymentID !== '')
      context.health ??= { Healthy: false, Timestamp: now };
    return {
      ID: alloc.ID,
      NodeID: alloc.NodeID,
      ...status,
      TaskStates: withEnds(this.tasks.states(), status.ClientStatus, now),
      DeploymentStatus: context.health,
      NetworkStatus: networkStatusOf(alloc, wantedGroup, context.network),
      ModifyTime: 0,
    };
  }

  /** Saves the state, then reports it. @param trace the trace of the cause of this state */
  async saveAndReport(trace: string | undefined): Promise<void> {
    if (!this.context.isReported) return;
    await this.save();
    if (this.context.isReported) this.context.agent.report(this.update(), trace);
  }

  /** Saves the record. A failed write is logged and stops nothing (AG-204). */
  async save(): Promise<void> {
    const { agent, phase, id } = this.context;
    if (phase === 'removed') return;
    try {
      await agent.records.save(this.record());
    } catch (error) {
      agent.logger.error(
        'the state of an allocation cannot be written: after a restart of the agent its tasks are lost',
        { alloc: id, error },
      );
    }
  }

  private record(): AllocationRecord {
    const { alloc, health } = this.context;
    const { acknowledged, tasks } = this;
    return { version: 1, alloc, tasks: tasks.records(), health, ...this.hooks.record(), acknowledged };
  }
}
