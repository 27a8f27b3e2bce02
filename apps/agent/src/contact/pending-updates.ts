import type { ClientAllocUpdate } from '@waybill/model';

/** PendingUpdate is a state of an allocation that waits to be sent. */
export interface PendingUpdate {
  readonly update: ClientAllocUpdate;
  readonly traceparent: string | undefined;
  /** Whether it is sent although the servers have confirmed the same state (AG-68). */
  readonly again: boolean;
}

/** PendingUpdatesListener is the consumer of the pending updates. */
export interface PendingUpdatesListener {
  /** Handles a new state. */
  updateAdded(update: ClientAllocUpdate): void;
  /** Handles current states that the servers need with the next push, confirmed or not (AG-68). */
  updatesAddedAgain(): void;
}

/**
 * PendingUpdates holds states of allocations for the servers. The allocations add states, and the push loop sends and
 * removes them. Limit: one state per allocation, the newest (AG-60).
 */
export class PendingUpdates {
  private readonly pending = new Map<string, PendingUpdate>();
  private listener: PendingUpdatesListener | undefined;

  get size(): number {
    return this.pending.size;
  }

  /** Returns the pending updates in the order in which their allocations first had news. Cost: O(pending). */
  all(): PendingUpdate[] {
    return [...this.pending.values()];
  }

  /** Sets the listener. There is only one. */
  setListener(listener: PendingUpdatesListener): void {
    this.listener = listener;
  }

  /** Adds a state. It replaces an older state of the same allocation (AG-60). */
  addUpdate(update: ClientAllocUpdate, traceparent: string | undefined): void {
    const before = this.pending.get(update.ID);
    this.pending.set(update.ID, {
      update,
      traceparent: traceparent ?? before?.traceparent,
      again: before?.again ?? false,
    });
    this.listener?.updateAdded(update);
  }

  /** Adds current states again, confirmed or not (AG-68). */
  addAgain(updates: readonly ClientAllocUpdate[]): void {
    for (const update of updates) this.pending.set(update.ID, { update, traceparent: undefined, again: true });
    this.listener?.updatesAddedAgain();
  }

  removeUpdate(allocId: string): void {
    this.pending.delete(allocId);
  }

  /** Removes an update that was sent, unless a newer state of its allocation has arrived meanwhile (AG-64). */
  removeSent(sent: PendingUpdate): void {
    if (this.pending.get(sent.update.ID) === sent) this.pending.delete(sent.update.ID);
  }
}
