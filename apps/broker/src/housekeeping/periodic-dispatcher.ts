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
import { Heap, type HeapElement } from '../queue/heap.js';

/** A launch that could not be written, because the log did not take it, is tried again after this long. */
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

/** What a launch made. */
export interface Launched {
  readonly evalId: string;
  /** Of the transaction that registered the child with its evaluation. */
  readonly index: number;
}

/** One periodic job that waits for its time. In the heap but while its launch is being written. */
interface Waiting extends HeapElement {
  readonly key: string;
  /** Of the specification the time was computed from. */
  readonly jobModifyIndex: number;
  /** Unix ms: when it comes out, and for which time it is launched. They differ while a write is tried again. */
  dueMs: number;
  launchMs: number;
}

/**
 * Launches periodic jobs: at each time of its schedule a job gets a child, registered with its evaluation in one
 * transaction. The child's name has the time in it and the registration insists that there is none of that name yet, so
 * one time is launched once, whoever writes it and however often.
 *
 * Modes: running (start → stop), one term long; pausing the broker does not stop it (EB-131). A job is tracked while it
 * is active; a new specification starts from now. What was missed while nobody held the role is made up for by one
 * launch at the start, by the stored time of the last one and what the schedule was since. With `ProhibitOverlap` a time is passed over while a child
 * has not ended. A clock that was set back is believed at once: each job is due at its next time by the new reading. A
 * time that was launched by the wrong one has its child already, and is not launched again.
 * Memory: one record per active periodic job. Cost: O(jobs) at the start, O(log n) per launch; one timer in all.
 */
export class PeriodicDispatcher {
  private readonly tracked = new Map<string, Waiting>();
  private readonly due = new Heap<Waiting>((a, b) => (a.dueMs === b.dueMs ? a.key < b.key : a.dueMs < b.dueMs));
  private stopTimer: CancelTimer = () => {};
  private running = false;

  private readonly timers: Timers;

  constructor(private readonly deps: PeriodicDispatcherDeps) {
    this.timers = new WallClockTimers(deps, () => this.believeNewClock());
  }

  start(): void {
    this.running = true;
    const { tables, logger } = this.deps;
    eachApart(
      tables.jobs.all(),
      ({ ID }) => `job ${ID}`,
      logger,
      (job) => {
        if (isLaunched(job)) this.track(job, this.missed(job));
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

  /** Follows the log: a job that came, changed, or ended. */
  changed(change: Change): void {
    if (change.table !== 'jobs' || !this.running) return;
    const { key, before, after } = change;
    const isActive = after !== undefined && isLaunched(after);
    if (!isActive && !(before !== undefined && isLaunched(before))) return;
    if (isActive && this.tracked.get(key)?.jobModifyIndex === after.JobModifyIndex) return;
    this.untrack(key);
    if (isActive) this.track(after, undefined);
    this.arm();
  }

  /**
   * Launches a job now, whatever its schedule, and also while another launch of it runs.
   * @throws Refusal, whatever the log fails with
   */
  async force(namespace: string, id: string): Promise<Launched> {
    const job = this.deps.tables.jobs.get(namespacedKey(namespace, id));
    if (!job) throw new Refusal('not-found', 'job not found');
    if (!isLaunchParent(job)) throw new Refusal('invalid', "can't force launch non-periodic job");
    if (!isLaunched(job))
      throw new Refusal('conflict', "can't force launch a periodic job that is stopped or disabled");
    return this.launch(job, this.freeSecond(job, this.deps.clock.nowMs()));
  }

  // ---- what waits

  /** Takes a job in, with the time it is due. One without a next time is not kept. */
  private track(job: Job, catchUpMs: number | undefined): void {
    const launchMs = catchUpMs ?? this.next(job, this.deps.clock.nowMs());
    if (launchMs === undefined) return;
    const key = namespacedKey(job.Namespace, job.ID);
    const waiting = { key, jobModifyIndex: job.JobModifyIndex, dueMs: launchMs, launchMs, heapAt: -1 };
    this.tracked.set(key, waiting);
    this.due.push(waiting);
  }

  private untrack(key: string): void {
    const waiting = this.tracked.get(key);
    if (!waiting) return;
    this.tracked.delete(key);
    this.due.remove(waiting);
  }

  /** Now, if a launch was due since the last one and nobody was there to make it. */
  private missed(job: Job): number | undefined {
    const last = this.deps.tables.periodic_launch.get(namespacedKey(job.Namespace, job.ID))?.Launch;
    if (!last) return undefined;
    const now = this.deps.clock.nowMs();
    const next = this.next(job, Math.max(Date.parse(last), this.scheduledSinceMs(job)));
    return next !== undefined && next <= now ? this.freeSecond(job, now) : undefined;
  }

  /**
   * When the job got the schedule it has: by another one, switched off or stopped it had nothing to miss. 0: as far back
   * as versions are kept. Cost: O(versions kept).
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

  private next(job: Job, afterMs: number): number | undefined {
    if (!job.Periodic) return undefined;
    try {
      return this.deps.nextLaunchMs(job.Periodic, afterMs);
    } catch (error) {
      this.deps.logger.warn('a periodic job has no schedule that can be read', { error, jobId: job.ID });
      return undefined;
    }
  }

  private arm(): void {
    const stopOld = this.stopTimer;
    const first = this.due.peek();
    if (!first || !this.running) return stopOld();
    this.stopTimer = this.timers.after(first.dueMs - this.deps.clock.nowMs(), () => this.onDue());
    stopOld();
  }

  /** While the clock was ahead, the next times were computed from a future that has not come. */
  private believeNewClock(): void {
    const { tables, clock } = this.deps;
    const now = clock.nowMs();
    for (const [key, waiting] of this.tracked) {
      const job = tables.jobs.get(key);
      if (!job || waiting.heapAt < 0) continue; // what is being written is set anew when that is done
      const isRetry = waiting.dueMs !== waiting.launchMs;
      const next = isRetry ? now + LAUNCH_RETRY_MS : this.next(job, now);
      if (next === undefined || next >= waiting.dueMs) continue;
      this.due.remove(waiting);
      waiting.dueMs = next;
      if (!isRetry) waiting.launchMs = next;
      this.due.push(waiting);
    }
    this.arm();
  }

  private onDue(): void {
    const now = this.deps.clock.nowMs();
    for (let first = this.due.peek(); first && first.dueMs <= now; first = this.due.peek()) {
      this.due.pop();
      void this.launchDue(first);
    }
    this.arm();
  }

  // ---- launching

  private async launchDue(waiting: Waiting): Promise<void> {
    const job = this.deps.tables.jobs.get(waiting.key);
    let again = false;
    if (job && this.mayRunNow(job)) again = !(await this.tryLaunch(job, waiting.launchMs));
    if (!this.running || !job || this.tracked.get(waiting.key) !== waiting) return;
    const now = this.deps.clock.nowMs();
    const next = this.next(job, Math.max(waiting.launchMs, now - 1));
    if (next === undefined && !again) return this.untrack(waiting.key);
    const retryMs = now + LAUNCH_RETRY_MS;
    if (again && (next === undefined || retryMs < next)) waiting.dueMs = retryMs;
    else if (next !== undefined) waiting.dueMs = waiting.launchMs = next;
    this.due.push(waiting);
    this.arm();
  }

  private mayRunNow(job: Job): boolean {
    if (!job.Periodic?.ProhibitOverlap) return true;
    const children = this.deps.tables.job_summary.get(namespacedKey(job.Namespace, job.ID))?.Children;
    const mayRun = !children || children.Pending + children.Running === 0;
    if (!mayRun) this.deps.logger.info('a launch is passed over: the one before has not ended', { jobId: job.ID });
    return mayRun;
  }

  /** False: the log did not take it. What the state refuses is over and done with. */
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

  /** A launch has a second of its own: two forced in one second are two launches. */
  private freeSecond(job: Job, fromMs: number): number {
    let launchMs = fromMs;
    while (this.deps.tables.jobs.has(namespacedKey(job.Namespace, launchId(job.ID, launchMs)))) launchMs += 1000;
    return launchMs;
  }
}
