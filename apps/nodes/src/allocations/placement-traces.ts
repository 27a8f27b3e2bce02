import type { ReplicatedState } from '@waybill/replica';
import type { Applied } from '@waybill/state';

/** Allocations whose trace is remembered; the oldest are forgotten first. A forgotten trace costs a span its parent. */
export const MAX_REMEMBERED_TRACES = 20_000;

/**
 * The trace of each allocation's last change by the servers, as far as this replica saw it live: an agent's spans
 * become children of the plan that placed the allocation. Memory: MAX_REMEMBERED_TRACES entries. Cost: O(1) for each
 * changed allocation.
 */
export class PlacementTraces {
  private readonly traces = new Map<string, string>();
  readonly stop: () => void;

  constructor(state: Pick<ReplicatedState, 'onApplied'>) {
    this.stop = state.onApplied((applied) => this.applied(applied));
  }

  of(allocId: string): string | undefined {
    return this.traces.get(allocId);
  }

  private applied(applied: Applied): void {
    const { traceparent } = applied.txn;
    for (const change of applied.changes) {
      if (change.table !== 'allocs') continue;
      if (!change.after) this.traces.delete(change.key);
      else if (traceparent && change.after.AllocModifyIndex === applied.index) this.remember(change.key, traceparent);
    }
  }

  private remember(allocId: string, traceparent: string): void {
    this.traces.delete(allocId);
    this.traces.set(allocId, traceparent);
    for (const oldest of this.traces.keys()) {
      if (this.traces.size <= MAX_REMEMBERED_TRACES) break;
      this.traces.delete(oldest);
    }
  }
}
