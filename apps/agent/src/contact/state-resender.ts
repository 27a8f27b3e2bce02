import type { ClientAllocUpdate, NodeStatus } from '@waybill/model';
import type { Gate } from '../waiting/gate.js';
import type { PendingUpdates } from './pending-updates.js';

/** ReportingAllocations are the allocations whose current states the servers may need. */
export interface ReportingAllocations {
  /** Returns the current state of every allocation here. Cost: O(allocations here). */
  clientUpdates(): ClientAllocUpdate[];
}

export interface StateResenderDependencies {
  readonly allocations: ReportingAllocations;
  readonly pending: Pick<PendingUpdates, 'addAgain'>;
  /** The gate that opens when the first pull was applied. */
  readonly serversAsked: Gate;
}

/**
 * StateResender sends the current states of all allocations if the servers may have lost them: once for each stay of the
 * node in `initializing` (AG-68), and after a restore of the servers' state (OP-47). Cost: O(allocations here) each
 * time.
 */
export class StateResender {
  private isResendDue = false;
  private wasInitializing = false;

  constructor(private readonly deps: StateResenderDependencies) {}

  /** Handles the node's status in the answer to a heartbeat. */
  handleNodeStatus(status: NodeStatus): void {
    const isInitializing = status === 'initializing';
    if (isInitializing && !this.wasInitializing) {
      this.isResendDue = true;
      // The pull that AG-68 waits for may be long past. Any pull since the start is recent enough, because a read waits
      // at the servers at all times.
      if (this.deps.serversAsked.isOpen) this.sendAllStates();
    }
    this.wasInitializing = isInitializing;
  }

  /** Handles a list of the servers that was applied. */
  handleAppliedList(isRestored: boolean): void {
    if (this.isResendDue || isRestored) this.sendAllStates();
  }

  private sendAllStates(): void {
    this.isResendDue = false;
    this.deps.pending.addAgain(this.deps.allocations.clientUpdates());
  }
}
