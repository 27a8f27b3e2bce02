import { isDeepStrictEqual } from 'node:util';
import {
  isLaunched,
  isLaunchParent,
  launchId,
  launchOf,
  msFromNs,
  newEvaluation,
  nsFromMs,
  type CancelTimer,
  type Clock,
  type Job,
  type PeriodicConfig,
  type Timers,
  WallClockTimers,
  Refusal,
} from '@waybill/model';
import { eachApart, type HolderWriter } from '@waybill/roles';
import { childRegistration, namespacedKey, versionKey, type Change, type Tables } from '@waybill/state';
import type { Logger } from '@waybill/telemetry';
import { Heap, type HeapElement, NOT_IN_HEAP } from '../queue/heap.js';

/** Pause before a launch that could not be written is tried again. */
export const LAUNCH_RETRY_MS = 5_000;

export interface PeriodicDispatcherDeps {
  readonly tables: Tables;
  readonly writer: Pick<HolderWriter, 'write'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  /** First time after `afterMs` at which the schedule is due, unix ms; undefined: never. @throws if it is no schedule */
  readonly nextLaunchMs: (periodic: PeriodicConfig, afterMs: number) => number | undefined;
}

/** The result of a launch. */
export interface Launched {
  readonly evalId: string;
  /** Index of the transaction that registered the child with its evaluation. */
  readonly index: number;
}

/** A periodic job that waits for its next launch. It is in the heap except while a launch of it is being written. */
interface ScheduledJob extends HeapElement {
  readonly key: string;
  /** JobModifyIndex of the specification that the time was computed from. */
  readonly jobModifyIndex: number;
  /** Unix ms: when the launch is due, and the time in the child's name. They differ while a failed write is retried. */
  dueMs: number;
  launchMs: number;
}

/**
 * Launches periodic jobs: at each time of its schedule a job gets a child, registered with its evaluation in one
 * transaction. The child's name contains the time, and the registration requires that no job of that name exists, so each
 * time is launched once, however often and by however many holders the launch is written.
 *
 * Modes: running (`start`) → stopped (`stop`), for one term; pausing the broker does not stop it (EB-131). A job is tracked
 * while it is active; a new specification counts from now. If launches were missed while no process held the role, the start
 * of a term makes one launch for all of them, by the stored time of the last launch and the schedules since then. With
 * `ProhibitOverlap` a time is skipped while a child has not ended. After the clock is set back, each job is due at its next
 * time by the new reading; a time that was launched by the wrong reading has its child already and is not launched again.
 * Memory: one record for each active periodic job, one timer in all. Cost: O(jobs) at the start, O(log n) for a launch.
 */
export class PeriodicDispatcher {
  private readonly tracked = new Map<string, ScheduledJob>();
  private readonly due = new Heap<ScheduledJob>((a, b) => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.key < b.key));
  private stopTimer: CancelTimer = () => {};
  private running = false;

  private readonly timers: Timers;

  constructor(private readonly deps: PeriodicDispatcherDeps) {
    this.timers = new WallClockTimers(deps, () => this.reschedule());
  }

  start(): void {
    this.running = true;
    const { tables, logger } = this.deps;
    eachApart(
      tables.jobs.all(),
      ({ ID }) => `job ${ID}`,
      logger,
      (job) => {
        if (isLaunched(job)) this.track(job, this.catchUpTimeOf(job));
      },
    );
    this.arm();
  }

  stop(): void {
    this.running = false;
    this.stopTimer();
    this.tracked.clear();
  }

  /** Periodic jobs that have a next time. */
  get size(): number {
    return this.tracked.size;
  }

  /** Follows the log: a job was registered, changed, or ended. */
  changed(change: Change): void {
    if (change.table !== 'jobs' || !this.running) return;
    const { key, after } = change;
    const isActive = after !== undefined && isLaunched(after);
    const known = this.tracked.get(key);
    if (isActive ? known?.jobModifyIndex === after.JobModifyIndex : !known) return;
    this.untrack(key);
    if (isActive) this.track(after, undefined);
    this.arm();
  }

  /**
   * Launches a job now, regardless of its schedule, and also while another launch of it runs.
   * @throws Refusal, and any error of the log
   */
  async force(namespace: string, id: string): Promise<Launched> {
    const job = this.deps.tables.jobs.get(namespacedKey(namespace, id));
    if (!job) throw new Refusal('not-found', 'job not found');
    if (!isLaunchParent(job)) throw new Refusal('invalid', "can't force launch non-periodic job");
    if (!isLaunched(job))
      throw new Refusal('conflict', "can't force launch a periodic job that is stopped or disabled");
    return this.launch(job, this.freeSecond(job, this.deps.clock.nowMs()));
  }

  // ---- scheduled jobs

  /** Tracks a job until its next time. A job that has no next time is not kept. */
  private track(job: Job, catchUpMs: number | undefined): void {
    const launchMs = catchUpMs ?? this.nextTimeOf(job, this.deps.clock.nowMs());
    if (launchMs === undefined) return;
    const key = namespacedKey(job.Namespace, job.ID);
    const scheduled = { key, jobModifyIndex: job.JobModifyIndex, dueMs: launchMs, launchMs, heapAt: NOT_IN_HEAP };
    this.tracked.set(key, scheduled);
    this.due.push(scheduled);
  }

  private untrack(key: string): void {
    const scheduled = this.tracked.get(key);
    if (!scheduled) return;
    this.tracked.delete(key);
    this.due.remove(scheduled);
  }

  /** The time of a launch that makes up for missed ones: now, if one was due since the last launch; else undefined. */
  private catchUpTimeOf(job: Job): number | undefined {
    const last = this.deps.tables.periodic_launch.get(namespacedKey(job.Namespace, job.ID))?.Launch;
    if (!last) return undefined;
    const now = this.deps.clock.nowMs();
    const next = this.nextTimeOf(job, Math.max(Date.parse(last), this.scheduledSinceMs(job)));
    return next !== undefined && next <= now ? this.freeSecond(job, now) : undefined;
  }

  /**
   * Since when the job has its current schedule, unix ms: while it had another schedule, or was disabled or stopped, it
   * missed no launch of this one. 0: since before the oldest stored version. Cost: O(versions stored).
   */
  private scheduledSinceMs(job: Job): number {
    for (let version = job; ;) {
      const earlier = this.deps.tables.job_version.get(versionKey(job.Namespace, job.ID, version.Version - 1));
      if (!earlier) return 0;
      if (!isLaunched(earlier) || !isDeepStrictEqual(earlier.Periodic, job.Periodic))
        return msFromNs(version.SubmitTime);
      version = earlier;
    }
  }

  private nextTimeOf(job: Job, afterMs: number): number | undefined {
    if (!job.Periodic) return undefined;
    try {
      return this.deps.nextLaunchMs(job.Periodic, afterMs);
    } catch (error) {
      this.deps.logger.warn('the schedule of a periodic job cannot be parsed', { error, jobId: job.ID });
      return undefined;
    }
  }

  private arm(): void {
    const stopOld = this.stopTimer;
    const first = this.due.peek();
    if (!first || !this.running) return stopOld();
    this.stopTimer = this.timers.after(first.dueMs - this.deps.clock.nowMs(), () => this.launchAllDue());
    stopOld();
  }

  /** Computes the next times anew after the clock was set: those computed while it was ahead are too late. O(jobs). */
  private reschedule(): void {
    const { tables, clock } = this.deps;
    const now = clock.nowMs();
    for (const [key, scheduled] of this.tracked) {
      const job = tables.jobs.get(key);
      if (!job || scheduled.heapAt === NOT_IN_HEAP) continue; // a job whose launch is being written is rescheduled after that
      const isRetry = scheduled.dueMs !== scheduled.launchMs;
      const next = isRetry ? now + LAUNCH_RETRY_MS : this.nextTimeOf(job, now);
      if (next === undefined || next >= scheduled.dueMs) continue;
      this.due.remove(scheduled);
      scheduled.dueMs = next;
      if (!isRetry) scheduled.launchMs = next;
      this.due.push(scheduled);
    }
    this.arm();
  }

  private launchAllDue(): void {
    const now = this.deps.clock.nowMs();
    for (let first = this.due.peek(); first && first.dueMs <= now; first = this.due.peek()) {
      this.due.pop();
      void this.launchDue(first);
    }
    this.arm();
  }

  // ---- launching

  private async launchDue(scheduled: ScheduledJob): Promise<void> {
    const job = this.deps.tables.jobs.get(scheduled.key);
    let mustRetry = false;
    if (job && this.mayLaunchNow(job)) mustRetry = !(await this.tryLaunch(job, scheduled.launchMs));
    // Not if the job has ended or changed meanwhile, or the dispatcher has stopped.
    if (!job || this.tracked.get(scheduled.key) !== scheduled) return;
    const now = this.deps.clock.nowMs();
    const next = this.nextTimeOf(job, Math.max(scheduled.launchMs, now - 1));
    if (next === undefined && !mustRetry) return this.untrack(scheduled.key);
    const retryMs = now + LAUNCH_RETRY_MS;
    if (mustRetry && (next === undefined || retryMs < next)) scheduled.dueMs = retryMs;
    else if (next !== undefined) scheduled.dueMs = scheduled.launchMs = next;
    this.due.push(scheduled);
    this.arm();
  }

  private mayLaunchNow(job: Job): boolean {
    if (!job.Periodic?.ProhibitOverlap) return true;
    const children = this.deps.tables.job_summary.get(namespacedKey(job.Namespace, job.ID))?.Children;
    const mayLaunch = !children || children.Pending + children.Running === 0;
    if (!mayLaunch)
      this.deps.logger.info('a launch is skipped, because the previous one has not ended', { jobId: job.ID });
    return mayLaunch;
  }

  /** False if the launch could not be written and must be retried. A refusal by the state is final. */
  private async tryLaunch(job: Job, launchMs: number): Promise<boolean> {
    try {
      await this.launch(job, launchMs);
      return true;
    } catch (error) {
      this.deps.logger.warn('a periodic job could not be launched', { error, jobId: job.ID });
      return error instanceof Refusal;
    }
  }

  private async launch(job: Job, launchMs: number): Promise<Launched> {
    const { writer, clock, newId } = this.deps;
    const nowMs = clock.nowMs();
    const child = launchOf(job, launchMs, nowMs);
    const evaluation = newEvaluation({
      ID: newId(),
      Namespace: child.Namespace,
      Priority: child.Priority,
      Type: child.Type,
      TriggeredBy: 'periodic-job',
      JobID: child.ID,
      CreateTime: nsFromMs(nowMs),
    });
    const index = await writer.write('JobRegister', childRegistration(child, evaluation), child.Namespace);
    return { evalId: evaluation.ID, index };
  }

  /** The first second from `fromMs` on without a launch, so that two launches forced in one second have two names. */
  private freeSecond(job: Job, fromMs: number): number {
    let launchMs = fromMs;
    while (this.deps.tables.jobs.has(namespacedKey(job.Namespace, launchId(job.ID, launchMs)))) launchMs += 1000;
    return launchMs;
  }
}
