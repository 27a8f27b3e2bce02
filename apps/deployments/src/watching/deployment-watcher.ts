import {
  DEPLOYMENT_OVERDUE,
  DEPLOYMENT_UNHEALTHY,
  isActiveDeployment,
  nsFromMs,
  NO_TRANSITION,
  type CancelTimer,
  type Clock,
  type Deployment,
  type Timers,
  type Turns,
} from '@waybill/model';
import { namespacedKey, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { mayAutoPromote } from './auto-promotion.js';
import { failureOf, type Failure } from './deployment-failure.js';
import { healthFindings, type HealthFindings } from './health-findings.js';
import type { HolderWriter } from '@waybill/roles';
import { latestSeenIndex } from './latest-seen-index.js';
import { cutoffMs, overdueGroups } from './progress-deadline.js';
import type { Reader, ReadLimiter } from './read-limiter.js';
import { UnknownJobError, watcherEvaluation } from './rolled-out-job.js';
import type { DeploymentUpdate, UpdateBatcher } from './update-batcher.js';

/** First and longest pause after a failed write of a status (DP-613). */
export const FIRST_RETRY_MS = 500;
export const MAX_RETRY_MS = 30_000;

/** Error of calls to a process that does not hold the role (DP-602, DP-603). */
export const NOT_ENABLED = 'deployment watcher not enabled';

/** Dependencies that all watchers of one term share. */
export interface Watching {
  readonly tables: Tables;
  readonly clock: Clock;
  /** Timers for pauses. */
  readonly timers: Timers;
  /** Timers for deadlines, by the time of day (DP-1804). */
  readonly deadlines: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly writer: HolderWriter;
  /**
   * Serializes the writes of each deployment: each write is decided on the state that the previous one left, so that an
   * operator's pause and a deadline that fires in the same moment do not both decide on the older state (DP-903).
   * Transactions of other writers (plans, agents) are checked when applied.
   */
  readonly turns: Turns;
  readonly limiter: ReadLimiter;
  readonly batcher: UpdateBatcher;
  readonly counters: WatcherCounters;
}

/** Totals of one term (DP-1308). */
export class WatcherCounters {
  allocationReads = 0;
  timersArmed = 0;
  statusWriteRetries = 0;
}

/** Decides one write on the state at its turn; undefined: there is no reason for it any more. */
type Decide = (deployment: Deployment) => (() => Promise<unknown>) | undefined;

/**
 * Watches one active deployment (DP sections 2.5 to 2.9).
 *
 * Modes: watching ⇄ writing (writes a failure or a promotion; changes wait) → watching, or pausing (the write failed,
 * and it begins anew after a growing pause) → stopped. It keeps nothing that is not in state, and decides from the
 * tables. It sleeps until `changed` (one of its objects changed) or its timer, which is the cutoff of a running
 * deployment or the end of the pause.
 * Limits: one timer; reads at the rate of the limiter. Cost of `changed`: O(groups); of a read: O(its allocations, and
 * the evaluations of its job).
 */
export class DeploymentWatcher implements Reader {
  private mode: 'watching' | 'writing' | 'pausing' | 'stopped' = 'watching';
  private timer: { readonly atMs: number | undefined; readonly cancel: CancelTimer } | undefined;
  private retryMs = FIRST_RETRY_MS;

  constructor(
    readonly id: string,
    private readonly shared: Watching,
  ) {}

  /** Starts with a read that waits for no change (DP-615). */
  startWatching(): void {
    this.setDeadline();
    this.shared.limiter.requestFirst(this);
  }

  /** Must be called when the deployment or one of its allocations changed. */
  requestRead(): void {
    if (this.mode !== 'watching') return; // it reads again when it watches again
    this.setDeadline();
    this.shared.limiter.requestRead(this);
  }

  /** Reads the allocations, when the limiter says so (DP section 2.7). */
  readAllocations(): void {
    const deployment = this.deployment();
    if (this.mode !== 'watching' || !deployment) return;
    const findings = this.healthFindingsOf(deployment);
    if (findings.failure) return this.write((now) => this.healthFailure(now));
    if (findings.wantsEvaluation || findings.reschedulable.length > 0) this.shared.batcher.requestUpdate(this.id);
    if (mayAutoPromote(deployment, this.alloc)) this.write((now) => this.promotion(now));
  }

  /** The batched update of the deployment, computed when the batch is written. */
  update(): DeploymentUpdate | undefined {
    const deployment = this.deployment();
    if (!deployment) return undefined;
    const { wantsEvaluation, reschedulable } = this.healthFindingsOf(deployment);
    if (!wantsEvaluation && reschedulable.length === 0) return undefined;
    const { tables, newId } = this.shared;
    try {
      return {
        transitions: Object.fromEntries(reschedulable.map((id) => [id, { ...NO_TRANSITION, Reschedule: true }])),
        evaluation: watcherEvaluation(tables, deployment, newId(), this.nowNs()),
      };
    } catch (error) {
      if (!(error instanceof UnknownJobError)) throw error;
      this.shared.logger.warn(error.message);
      return undefined;
    }
  }

  get hasTimer(): boolean {
    return this.timer !== undefined;
  }

  /** Stops for good, because the deployment or the term is over. */
  stop(): void {
    this.mode = 'stopped';
    this.cancelTimer();
    this.shared.limiter.forget(this);
    this.shared.batcher.forget(this.id);
  }

  // ---- the deadline

  /** Sets the timer, if the cutoff has moved (DP-507, DP-610). */
  private setDeadline(): void {
    const deployment = this.deployment();
    const atMs = deployment && cutoffMs(deployment);
    if (atMs === this.timer?.atMs) return;
    this.cancelTimer();
    if (atMs === undefined) return;
    const { deadlines, clock } = this.shared;
    this.setTimer(deadlines, atMs - clock.nowMs(), () => this.deadlinePassed(), atMs);
  }

  /** Fails the deployment if a group missed its deadline (DP-508, DP-515). */
  private deadlinePassed(): void {
    const deployment = this.deployment();
    if (!deployment) return this.shared.logger.info('deadline of a deployment that is gone', { deployment: this.id });
    if (overdueGroups(deployment, this.shared.clock.nowMs()).length === 0) return this.setDeadline();
    this.write((now) => this.deadlineFailure(now));
  }

  // ---- writes

  private deadlineFailure(deployment: Deployment): (() => Promise<unknown>) | undefined {
    const overdue = overdueGroups(deployment, this.shared.clock.nowMs());
    if (overdue.length === 0) return undefined;
    const reverts = overdue.some((state) => state.AutoRevert);
    return this.failureWrite(deployment, failureOf(this.shared, deployment, DEPLOYMENT_OVERDUE, reverts));
  }

  private healthFailure(deployment: Deployment): (() => Promise<unknown>) | undefined {
    const { failure } = this.healthFindingsOf(deployment);
    if (!failure) return undefined;
    return this.failureWrite(deployment, failureOf(this.shared, deployment, DEPLOYMENT_UNHEALTHY, failure.reverts));
  }

  private failureWrite(deployment: Deployment, { payload }: Failure): () => Promise<unknown> {
    return () => this.shared.writer.write('DeploymentStatusUpdate', payload, deployment.Namespace);
  }

  /** The promotion, if the canaries are ready for it (DP-858, DP-862). */
  private promotion(deployment: Deployment): (() => Promise<unknown>) | undefined {
    if (!mayAutoPromote(deployment, this.alloc)) return undefined;
    const { tables, newId, writer } = this.shared;
    const PromotedAt = this.nowNs();
    const Eval = watcherEvaluation(tables, deployment, newId(), PromotedAt);
    const payload = { DeploymentID: this.id, All: true, Groups: [], PromotedAt, Eval };
    return () => writer.write('DeploymentPromote', payload, deployment.Namespace);
  }

  private write(decide: Decide): void {
    this.mode = 'writing';
    this.cancelTimer();
    const work = async (): Promise<void> => {
      const deployment = this.deployment();
      await (deployment && decide(deployment)?.());
    };
    this.shared.turns.runInTurn(this.id, work).then(
      () => this.resumeWatching(),
      (error: unknown) => this.writeFailed(error),
    );
  }

  /**
   * Decides anew after a pause (DP-613). If the deployment is over, which refuses the write, `stop` comes first
   * (DP-812).
   */
  private writeFailed(error: unknown): void {
    if (this.mode === 'stopped') return;
    const { logger, counters, timers } = this.shared;
    logger.warn('a write of a deployment watcher failed', { error, deployment: this.id });
    counters.statusWriteRetries++;
    this.mode = 'pausing';
    this.setTimer(timers, this.retryMs, () => this.resumeWatching());
    this.retryMs = Math.min(this.retryMs * 2, MAX_RETRY_MS);
  }

  private resumeWatching(): void {
    if (this.mode === 'stopped') return;
    if (this.mode === 'writing') this.retryMs = FIRST_RETRY_MS;
    this.mode = 'watching';
    this.requestRead();
  }

  // ---- reads

  private healthFindingsOf(deployment: Deployment): HealthFindings {
    const { tables, counters } = this.shared;
    counters.allocationReads++;
    const jobKey = namespacedKey(deployment.Namespace, deployment.JobID);
    const seen = latestSeenIndex(tables.evals.by('job', jobKey));
    return healthFindings(deployment, tables.allocs.by('deployment', this.id), seen, this.nowNs());
  }

  /** The deployment; undefined if it was deleted or is over. */
  private deployment(): Deployment | undefined {
    const deployment = this.shared.tables.deployment.get(this.id);
    return deployment && isActiveDeployment(deployment) ? deployment : undefined;
  }

  private readonly alloc = (id: string) => this.shared.tables.allocs.get(id);

  private nowNs(): number {
    return nsFromMs(this.shared.clock.nowMs());
  }

  /** @param atMs the deadline, unix ms, if the timer is for one */
  private setTimer(timers: Timers, delayMs: number, run: () => void, atMs?: number): void {
    this.shared.counters.timersArmed++;
    const cancel = timers.after(delayMs, () => {
      this.timer = undefined;
      run();
    });
    this.timer = { atMs, cancel };
  }

  private cancelTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }
}
