import type { ClientAllocUpdate, NodeStatus } from '@waybill/model';
import type { Gate } from '../waiting/gate.js';
import type { PendingUpdates } from './pending-updates.js';

/** The allocations whose present states the servers may need. */
export interface ReportingAllocations {
  /** The present state of every allocation here. O(allocations here). */
  reports(): ClientAllocUpdate[];
}

export interface OwedStatesDependencies {
  readonly allocations: ReportingAllocations;
  readonly pending: Pick<PendingUpdates, 'sendAgain'>;
  /** Opens with the first pull that was applied. */
  readonly serversAsked: Gate;
}

/**
 * Sends the present states of all allocations when the servers may have lost them: once for each stay of the node in
 * `initializing` (AG-68), and after a restore of the servers' state (OP-47). Cost: O(allocations here) each time.
 */
export class OwedStates {
  private isOwing = false;
  private wasInitializing = false;

  constructor(private readonly deps: OwedStatesDependencies) {}

  /** A heartbeat was answered with this status of the node. */
  heard(status: NodeStatus): void {
    const isInitializing = status === 'initializing';
    if (isInitializing && !this.wasInitializing) {
      this.isOwing = true;
      // The pull that AG-68 waits for may be long past; one that was applied since the start is recent enough here,
      // because a read waits at the servers at all times.
      if (this.deps.serversAsked.isOpen) this.sendAll();
    }
    this.wasInitializing = isInitializing;
  }

  /** A list of the servers was applied. */
  pulled(isRestored: boolean): void {
    if (this.isOwing || isRestored) this.sendAll();
  }

  private sendAll(): void {
    this.isOwing = false;
    this.deps.pending.sendAgain(this.deps.allocations.reports());
  }
}
