import type { CancelTimer, Clock, DesiredTransition, Evaluation, Timers } from '@waybill/model';
import type { TxnPayloads } from '@waybill/state';

/** How long one deployment gathers changes before its update is due (DP-707). */
export const DEPLOYMENT_WINDOW_MS = 1_000;
/** How long due updates of different deployments are gathered before they are written (DP-708). */
export const WRITE_WINDOW_MS = 250;
/** A larger transaction is split (DP-709); far below the size limit of a message of the log. */
export const MAX_BATCH_BYTES = 256 * 1024;
/** First and longest pause after a write that failed. */
export const FIRST_RETRY_MS = 500;
export const MAX_RETRY_MS = 30_000;

/** The update of one deployment: allocations that may be rescheduled, and the evaluation that goes with them. */
export interface DeploymentUpdate {
  readonly transitions: Readonly<Record<string, DesiredTransition>>;
  readonly evaluation: Evaluation;
}

export interface UpdateBatcherDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Computes the update when it is written, so that nothing is requested twice; undefined: no longer needed. */
  readonly updateOf: (deploymentId: string) => DeploymentUpdate | undefined;
  readonly write: (batch: TxnPayloads['AllocUpdateDesiredTransition']) => Promise<unknown>;
  readonly onError: (error: unknown) => void;
}

/**
 * Gathers updates of deployments for the scheduler into few transactions.
 *
 * Modes of a deployment: idle → gathering (DEPLOYMENT_WINDOW_MS from its first request) → due → written. Due ones wait
 * at most WRITE_WINDOW_MS for others. One write is in progress at a time; after a failed write its deployments are due
 * again, after a pause that doubles. `stop` drops everything: the next holder finds the same need in state (DP-711).
 * After a clock is set back, a wait that would last longer than its window ends at once.
 * Limits: MAX_BATCH_BYTES for each transaction. Memory: the deployments between request and write. One timer.
 */
export class UpdateBatcher {
  /** When the window of each gathering deployment ends. All windows are equally long, so the map is in that order. */
  private readonly gathering = new Map<string, number>();
  private readonly due = new Set<string>();
  private writeAtMs = 0;
  private retryMs = FIRST_RETRY_MS;
  private writing = false;
  private stopped = false;
  private armed: { readonly atMs: number; readonly cancel: CancelTimer } | undefined;
  batchesWritten = 0;
  evaluationsWritten = 0;

  constructor(private readonly deps: UpdateBatcherDeps) {}

  /** Deployments that wait for their update. */
  get size(): number {
    return this.gathering.size + this.due.size;
  }

  requestUpdate(deploymentId: string): void {
    if (this.stopped || this.gathering.has(deploymentId) || this.due.has(deploymentId)) return;
    this.gathering.set(deploymentId, this.deps.clock.nowMs() + DEPLOYMENT_WINDOW_MS);
    this.armTimer();
  }

  forget(deploymentId: string): void {
    this.gathering.delete(deploymentId);
    this.due.delete(deploymentId);
  }

  stop(): void {
    this.stopped = true;
    this.armed?.cancel();
    this.gathering.clear();
    this.due.clear();
  }

  private armTimer(): void {
    const atMs = this.nextMs();
    if (this.stopped || atMs === this.armed?.atMs) return;
    this.armed?.cancel();
    this.armed = undefined;
    if (atMs === undefined) return;
    const delayMs = Math.min(atMs - this.deps.clock.nowMs(), MAX_RETRY_MS);
    const cancel = this.deps.timers.after(delayMs, () => this.collectDue());
    this.armed = { atMs, cancel };
  }

  private nextMs(): number | undefined {
    const [firstWindow] = this.gathering.values();
    if (this.due.size === 0 || this.writing) return firstWindow;
    return Math.min(this.writeAtMs, firstWindow ?? this.writeAtMs);
  }

  private collectDue(): void {
    this.armed = undefined;
    const nowMs = this.deps.clock.nowMs();
    for (const [id, endsMs] of this.gathering) {
      if (!isOver(endsMs, nowMs, DEPLOYMENT_WINDOW_MS)) break;
      this.gathering.delete(id);
      if (this.due.size === 0 && isOver(this.writeAtMs, nowMs + WRITE_WINDOW_MS, MAX_RETRY_MS))
        this.writeAtMs = nowMs + WRITE_WINDOW_MS;
      this.due.add(id);
    }
    if (this.due.size > 0 && isOver(this.writeAtMs, nowMs, MAX_RETRY_MS) && !this.writing) void this.writeDue();
    this.armTimer();
  }

  private async writeDue(): Promise<void> {
    this.writing = true;
    const ids = [...this.due];
    this.due.clear();
    try {
      for (const batch of this.batchesOf(ids)) {
        await this.deps.write(batch);
        this.batchesWritten++;
        this.evaluationsWritten += batch.Evals.length;
        if (this.stopped) return;
      }
      this.retryMs = FIRST_RETRY_MS;
    } catch (error) {
      if (this.stopped) return;
      this.deps.onError(error);
      for (const id of ids) this.due.add(id);
      this.writeAtMs = this.deps.clock.nowMs() + this.retryMs;
      this.retryMs = Math.min(this.retryMs * 2, MAX_RETRY_MS);
    } finally {
      this.writing = false;
      this.armTimer();
    }
  }

  /**
   * Splits due deployments into batches; transitions and evaluation of one deployment stay together (DP-709). A batch
   * is computed when the previous one was written.
   */
  private *batchesOf(ids: readonly string[]): Generator<TxnPayloads['AllocUpdateDesiredTransition']> {
    let batch: TxnPayloads['AllocUpdateDesiredTransition'] = { Transitions: {}, Evals: [] };
    let bytes = 0;
    for (const id of ids) {
      const update = this.deps.updateOf(id);
      if (!update) continue;
      const size = JSON.stringify(update).length;
      if (bytes > 0 && bytes + size > MAX_BATCH_BYTES) {
        yield batch;
        batch = { Transitions: {}, Evals: [] };
        bytes = 0;
      }
      Object.assign(batch.Transitions, update.transitions);
      batch.Evals.push(update.evaluation);
      bytes += size;
    }
    if (bytes > 0) yield batch;
  }
}

/** Whether a wait of at most `longestMs` has ended, by a clock that may have been set back since it began. */
function isOver(endsMs: number, nowMs: number, longestMs: number): boolean {
  return endsMs <= nowMs || endsMs - nowMs > longestMs;
}
