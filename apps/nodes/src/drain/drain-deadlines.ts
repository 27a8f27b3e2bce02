import { type CancelTimer, type Clock, type Timers, WallClockTimers } from '@waybill/model';

/** DR-62: deadlines within this time of the earliest are handled together, at the latest of them. */
export const DEADLINE_WINDOW_MS = 5_000;

/**
 * When draining nodes have to be empty: one timer for all of them (DR-62). A deadline that has passed already fires as
 * soon as possible (DR-65). Never early, at most DEADLINE_WINDOW_MS late, by the time of day, whatever the clock was set
 * to meanwhile.
 * Memory: one entry per draining node with a deadline. Cost of a change or firing: O(such nodes).
 */
export class DrainDeadlines {
  private readonly dueMs = new Map<string, number>();
  private cancel: CancelTimer = () => {};

  private readonly clock: Clock;
  private readonly timers: Timers;

  constructor(
    time: { readonly clock: Clock; readonly timers: Timers },
    private readonly fire: (nodeIds: readonly string[]) => void,
  ) {
    this.clock = time.clock;
    this.timers = new WallClockTimers(time);
  }

  get size(): number {
    return this.dueMs.size;
  }

  /** Replaces the node's deadline (DR-64). Unix milliseconds. */
  set(nodeId: string, dueMs: number): void {
    this.dueMs.set(nodeId, dueMs);
    this.arm();
  }

  drop(nodeId: string): void {
    if (this.dueMs.delete(nodeId)) this.arm();
  }

  stop(): void {
    this.cancel();
    this.dueMs.clear();
  }

  private arm(): void {
    this.cancel();
    if (this.dueMs.size === 0) return;
    const nowMs = this.clock.nowMs();
    let earliest = Infinity;
    for (const due of this.dueMs.values()) earliest = Math.min(earliest, due);
    let atMs = earliest;
    if (earliest > nowMs)
      for (const due of this.dueMs.values()) if (due <= earliest + DEADLINE_WINDOW_MS) atMs = Math.max(atMs, due);
    this.cancel = this.timers.after(atMs - nowMs, () => this.fireDue());
  }

  private fireDue(): void {
    const nowMs = this.clock.nowMs();
    const due = [...this.dueMs].flatMap(([nodeId, dueMs]) => (dueMs <= nowMs ? [nodeId] : []));
    for (const nodeId of due) this.dueMs.delete(nodeId);
    this.arm();
    if (due.length > 0) this.fire(due);
  }
}
