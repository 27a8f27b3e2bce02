import type { Clock } from '@waybill/model';

/** Rejections of one node within the window after which the node is reported as bad (EB-284). */
export const NODE_THRESHOLD = 100;
export const NODE_WINDOW_MS = 5 * 60_000;
/** Rate limit of nodes reported as bad: a burst, then so many a period, so that a defect cannot disable the cluster (EB-286). */
export const REPORT_BURST = 10;
export const REPORTS_PER_PERIOD = 5;
export const REPORT_PERIOD_MS = 30 * 60_000;
/** Tracked nodes; beyond it, the node whose last rejection is oldest is forgotten (EB-287). */
export const MAX_TRACKED_NODES = 50;

export interface RejectionTrackerOptions {
  readonly enabled: boolean;
  readonly nodeThreshold: number;
  readonly nodeWindowMs: number;
}

export const DEFAULT_REJECTION_TRACKER: RejectionTrackerOptions = {
  enabled: false,
  nodeThreshold: NODE_THRESHOLD,
  nodeWindowMs: NODE_WINDOW_MS,
};

/** The configuration of the rejection tracker is invalid (EB-290). */
export class RejectionTrackerConfigError extends Error {
  override readonly name = 'RejectionTrackerConfigError';
}

/**
 * Finds nodes on which plans are rejected repeatedly. Scheduler and applier disagree about such a node, so the scheduler
 * should not use it (section 13).
 *
 * Modes: off (tracks nothing, EB-282) | on, for one term (EB-289). Memory: at most MAX_TRACKED_NODES nodes with
 * nodeThreshold times each. Cost of a rejection: O(tracked rejections of the node).
 */
export class RejectionTracker {
  private readonly options: RejectionTrackerOptions;
  /** Times of rejections by node, oldest first; the node with the latest rejection is last. */
  private readonly rejections = new Map<string, number[]>();
  private reportsLeft = REPORT_BURST;
  private refilledAtMs: number;

  /** @throws RejectionTrackerConfigError */
  constructor(
    private readonly clock: Clock,
    options: Partial<RejectionTrackerOptions> = {},
  ) {
    this.options = { ...DEFAULT_REJECTION_TRACKER, ...options };
    if (!(this.options.nodeWindowMs > 0))
      throw new RejectionTrackerConfigError('plan_rejection_tracker.node_window must be greater than 0');
    this.refilledAtMs = clock.nowMs();
  }

  /** Counts a rejection (EB-283). True: the rejected plan must mark the node ineligible (EB-288). */
  add(nodeId: string): boolean {
    if (!this.options.enabled) return false;
    const times = this.withinWindow(nodeId);
    times.push(this.clock.nowMs());
    if (times.length > this.options.nodeThreshold) times.shift(); // more of them would not change the outcome
    this.rejections.delete(nodeId);
    this.rejections.set(nodeId, times);
    this.forgetOldestNode();
    return times.length >= this.options.nodeThreshold && this.mayReport();
  }

  /** Rejections of the node within the window that ends now. */
  score(nodeId: string): number {
    return this.withinWindow(nodeId).length;
  }

  /** Nodes with their scores, for metrics. */
  *scores(): IterableIterator<[nodeId: string, score: number]> {
    for (const nodeId of this.rejections.keys()) yield [nodeId, this.score(nodeId)];
  }

  private withinWindow(nodeId: string): number[] {
    const oldest = this.clock.nowMs() - this.options.nodeWindowMs;
    return (this.rejections.get(nodeId) ?? []).filter((at) => at >= oldest);
  }

  private forgetOldestNode(): void {
    if (this.rejections.size <= MAX_TRACKED_NODES) return;
    for (const oldest of this.rejections.keys()) {
      this.rejections.delete(oldest);
      return;
    }
  }

  private mayReport(): boolean {
    const now = this.clock.nowMs();
    const refill = ((now - this.refilledAtMs) / REPORT_PERIOD_MS) * REPORTS_PER_PERIOD;
    this.reportsLeft = Math.min(REPORT_BURST, this.reportsLeft + refill);
    this.refilledAtMs = now;
    if (this.reportsLeft < 1) return false;
    this.reportsLeft--;
    return true;
  }
}
