import {
  type CancelTimer,
  type Clock,
  dueAtMs,
  type StatedTime,
  statedTime,
  type Timers,
  WallClockTimers,
} from '@waybill/model';

/** Deadlines within this time of the earliest one are handled together, at the latest of them (DR-62). */
export const DEADLINE_WINDOW_MS = 5_000;

/**
 * The deadlines of draining nodes, with one timer for all of them (DR-62). A deadline that has passed already fires as
 * soon as possible (DR-65). None fires early, and each at most DEADLINE_WINDOW_MS late, by the time of day, however the
 * clock is set meanwhile. A deadline that was computed by a wrong clock fires once the drain has had its whole time
 * here. Memory: one entry for each draining node with a deadline. Cost of a change or firing: O(such nodes).
 */
export class DrainDeadlines {
  private readonly due = new Map<string, StatedTime>();
  private cancel: CancelTimer = () => {};

  private readonly clock: Clock;
  private readonly timers: Timers;

  constructor(
    time: { readonly clock: Clock; readonly timers: Timers },
    /** @param nodeIds nodes whose deadline has passed, whatever their stored drain says */
    private readonly fire: (nodeIds: readonly string[]) => void,
  ) {
    this.clock = time.clock;
    this.timers = new WallClockTimers(time, (byMs) => this.shiftDeadlines(byMs));
  }

  get size(): number {
    return this.due.size;
  }

  /**
   * Replaces the node's deadline (DR-64). @param statedMs unix ms @param longestMs duration of the drain from its start
   */
  set(nodeId: string, statedMs: number, longestMs: number): void {
    this.due.set(nodeId, statedTime(statedMs, this.clock.nowMs(), longestMs));
    this.armTimer();
  }

  drop(nodeId: string): void {
    if (this.due.delete(nodeId)) this.armTimer();
  }

  stop(): void {
    this.cancel();
    this.due.clear();
  }

  private shiftDeadlines(byMs: number): void {
    for (const stated of this.due.values()) stated.latestMs += byMs;
    this.armTimer();
  }

  private armTimer(): void {
    if (this.due.size === 0) return this.cancel();
    const nowMs = this.clock.nowMs();
    const all = [...this.due.values()].map(dueAtMs);
    const earliest = all.reduce((least, due) => Math.min(least, due), Infinity);
    let atMs = earliest;
    if (earliest > nowMs) for (const due of all) if (due <= earliest + DEADLINE_WINDOW_MS) atMs = Math.max(atMs, due);
    const cancelOld = this.cancel;
    this.cancel = this.timers.after(atMs - nowMs, () => this.fireDue());
    cancelOld();
  }

  private fireDue(): void {
    const nowMs = this.clock.nowMs();
    const due = [...this.due].flatMap(([nodeId, stated]) => (dueAtMs(stated) <= nowMs ? [nodeId] : []));
    for (const nodeId of due) this.due.delete(nodeId);
    this.armTimer();
    if (due.length > 0) this.fire(due);
  }
}
