import { CORE_TYPE, type Evaluation } from '@waybill/model';
import type { Clock, Timers } from '@waybill/model';
import { EvalNotFoundError, NotOutstandingError, StaleTokenError, TokenMismatchError } from './broker-errors.js';
import {
  DEFAULT_BROKER_OPTIONS,
  FAILED_QUEUE,
  redeliveryDelayMs,
  type Delivery,
  type EvalBrokerOptions,
} from './delivery.js';
import { DueEvaluations, dueMsOf } from './due-evaluations.js';
import { Heap } from './heap.js';
import { JobSlots } from './job-slots.js';
import { noMeter, type EvalTimer, type Meter } from './meter.js';
import { NackTimers } from './nack-timers.js';
import { ReadyQueues } from './ready-queues.js';
import { Superseded } from './superseded.js';
import type { JobSlot, Outstanding, Tracked } from './tracked-evaluation.js';
import { asError, WaitingDequeues } from './waiting-dequeues.js';

/** Evaluations whose times are remembered for the timers; more have no samples (EB-321). */
export const MAX_TIMED = 10_000;

/** What the broker asks the state for. */
export interface EvalRows {
  /** The row as it is now, undefined if deleted. */
  evaluation(id: string): Evaluation | undefined;
  /** Highest ModifyIndex of all evaluations of exactly this job, 0 if none (EB-67, EB-68). */
  highestEvalIndex(namespace: string, jobId: string): number;
}

export interface EvalBrokerDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  /** In [0, 1). */
  readonly random: () => number;
  readonly rows: EvalRows;
  readonly meter?: Meter;
}

export interface BrokerStats {
  readonly totalReady: number;
  readonly totalUnacked: number;
  readonly totalPending: number;
  readonly totalWaiting: number;
  readonly totalCancelable: number;
  readonly byScheduler: Record<string, { ready: number; unacked: number }>;
}

/**
 * Decides which evaluation is worked on next: at-least-once, by priority, one at a time per job.
 *
 * Modes: disabled (takes in nothing, holds nothing) → enabled → disabled; every change of mode starts from empty, so the
 * owner rebuilds it from state (EB-111 to EB-123).
 * An evaluation is, from enqueue to ack, in exactly one place: delayed (not due yet) → pending (behind another of its
 * job) or ready → unacked (at a worker) → gone; a nack leads over redelivery (waits, holds its job) back to ready, or
 * at the limit to the failed queue. An ack of a job's evaluation makes its newest pending one ready and the rest of them
 * cancelable: superseded, to be written as canceled by the owner and then forgotten.
 * Limits: deliveryLimit, nackTimeoutMs; one timer for all delays, one for all deliveries. Memory: one record per evaluation,
 * none while disabled. Cost: O(log n) for every operation, O(1) for statistics.
 */
export class EvalBroker {
  private enabled = false;
  private readonly meter: Meter;
  private readonly options: EvalBrokerOptions;
  private tracked = new Map<string, Tracked>();
  private timedCount = 0;
  private pendingCount = 0;
  private restoring = false;
  private readonly jobs = new JobSlots();
  private readonly queues: ReadyQueues;
  private readonly due: DueEvaluations;
  private readonly nackTimers: NackTimers;
  private readonly superseded = new Superseded();
  private readonly waiting: WaitingDequeues;

  constructor(
    private readonly deps: EvalBrokerDeps,
    options: Partial<EvalBrokerOptions> = {},
  ) {
    this.options = { ...DEFAULT_BROKER_OPTIONS, ...options };
    this.meter = deps.meter ?? noMeter;
    this.queues = new ReadyQueues(deps.random);
    this.waiting = new WaitingDequeues(deps.timers);
    this.due = new DueEvaluations({ ...deps, onDue: (due) => this.onDue(due) });
    this.nackTimers = new NackTimers({
      ...deps,
      timeoutMs: this.options.nackTimeoutMs,
      onExpired: ({ tracked, token }) => this.nack(tracked.evaluation.ID, token),
    });
  }

  get isEnabled(): boolean {
    return this.enabled;
  }

  /** Both directions are no-ops when there already. Disabling flushes everything and ends waiting dequeues (EB-114). */
  setEnabled(enabled: boolean): void {
    if (enabled === this.enabled) return;
    this.enabled = enabled;
    this.flush();
    this.waiting.endAll();
  }

  /** Takes in an evaluation; a no-op if it is here already or the broker is disabled (EB-32, EB-112). */
  enqueue(evaluation: Evaluation, token = ''): void {
    if (!this.enabled) return;
    this.take(evaluation, token);
    this.serve();
  }

  /** Takes in several before any waiting dequeue is answered (EB-35). `token`: of the delivery that reblocked it. */
  enqueueAll(batch: Iterable<{ readonly evaluation: Evaluation; readonly token: string }>): void {
    if (!this.enabled) return;
    for (const { evaluation, token } of batch) this.take(evaluation, token);
    this.serve();
  }

  /** As `enqueueAll`, for what the durable evaluations say: without times, which nobody knows (EB-137). */
  restore(evaluations: Iterable<Evaluation>): void {
    if (!this.enabled) return;
    this.restoring = true;
    for (const evaluation of evaluations) this.take(evaluation, '');
    this.restoring = false;
    this.serve();
  }

  /**
   * The next evaluation of one of these types (EB-61, EB-62). With nothing ready it waits.
   *
   * @param timeoutMs 0: for ever
   * @returns null after the timeout, or when the broker was disabled at the call and the mode changed (EB-117)
   * @throws BrokerDisabledError if it is disabled while waiting (EB-116)
   */
  dequeue(types: readonly string[], timeoutMs: number): Promise<Delivery | null> {
    try {
      const now = this.takeReady(types);
      return now ? Promise.resolve(now) : this.waiting.wait(types, timeoutMs, !this.enabled);
    } catch (error) {
      return Promise.reject(asError(error));
    }
  }

  /** As `dequeue`, of what is ready at this moment. */
  takeReady(types: readonly string[]): Delivery | undefined {
    try {
      return this.enabled ? this.deliverNext(types) : undefined;
    } finally {
      this.serve();
    }
  }

  /** Ends a delivery with success. @throws EvalNotFoundError, TokenMismatchError */
  ack(evalId: string, token: string): void {
    const { tracked, delivery } = this.delivered(evalId, token);
    this.endDelivery(tracked, delivery);
    this.forget(tracked);
    this.releaseJob(tracked.job);
    if (delivery.requeue) this.takeIn(delivery.requeue);
    this.serve();
  }

  /** Ends a delivery without success: it comes again after a delay, or goes to the failed queue (EB-79 to EB-86). */
  nack(evalId: string, token: string): void {
    const { tracked, delivery } = this.delivered(evalId, token);
    this.endWithoutSuccess(tracked, delivery);
    this.serve();
  }

  private endWithoutSuccess(tracked: Tracked, delivery: Outstanding): void {
    this.endDelivery(tracked, delivery);
    if (tracked.queue === FAILED_QUEUE || tracked.deliveries >= this.options.deliveryLimit) {
      tracked.queue = FAILED_QUEUE;
      tracked.enqueuedAtMs = this.deps.clock.nowMs();
      this.makeReady(tracked);
    } else this.redeliverLater(tracked);
  }

  /** Token of the delivery in progress, undefined if there is none (EB-110). */
  outstandingToken(evalId: string): string | undefined {
    return this.tracked.get(evalId)?.delivery?.token;
  }

  /** What is being worked on. @throws NotOutstandingError, StaleTokenError unless the token is that of the delivery */
  verifyToken(evalId: string, token: string): Evaluation {
    return this.worked(evalId, token).tracked.evaluation;
  }

  /** Gives the worker the whole nack timeout again (EB-87). */
  resetNackTimer(evalId: string, token: string): void {
    const { delivery } = this.worked(evalId, token);
    this.nackTimers.start(delivery);
  }

  /** Waiting for the plan applier must not cost a worker its delivery (EB-88). */
  pauseNackTimer(evalId: string, token: string): void {
    this.nackTimers.stop(this.worked(evalId, token).delivery);
  }

  /** Restarts the full timeout; a delivery that is gone is no error (EB-89, EB-90). */
  resumeNackTimer(evalId: string, token: string): void {
    const delivery = this.tracked.get(evalId)?.delivery;
    if (delivery?.token === token) this.nackTimers.start(delivery);
  }

  /** Forgets an evaluation that is not due yet; anything else is left alone (EB-45, EB-46). */
  drop(evalId: string): void {
    const tracked = this.tracked.get(evalId);
    if (tracked?.place !== 'delayed') return;
    this.due.remove(tracked);
    this.forget(tracked);
  }

  /**
   * Takes at most `max` superseded evaluations, first superseded first, to be written as canceled. They stay tracked until
   * `forgetCanceled`, or come back by `returnCancelable` when the write failed (EB-98, EB-338).
   */
  takeCancelable(max: number): Evaluation[] {
    return this.superseded.take(max).map(({ evaluation }) => evaluation);
  }

  forgetCanceled(evalIds: Iterable<string>): void {
    for (const id of evalIds) {
      const tracked = this.tracked.get(id);
      if (tracked?.place === 'cancelable') this.forget(tracked);
    }
  }

  returnCancelable(evalIds: Iterable<string>): void {
    const group: Tracked[] = [];
    for (const id of evalIds) {
      const tracked = this.tracked.get(id);
      if (tracked?.place === 'cancelable') group.push(tracked);
    }
    this.superseded.add(group);
  }

  get cancelableCount(): number {
    return this.superseded.size;
  }

  /** Those that wait for their `WaitUntil` (EB-38), at most `max`, in no particular order. O(waiting). */
  *delayed(max: number): IterableIterator<{ readonly evaluation: Evaluation; readonly dueInMs: number }> {
    const now = this.deps.clock.nowMs();
    let shown = 0;
    for (const { evaluation, place, dueMs } of this.due.values()) {
      if (place !== 'delayed' || evaluation.Wait > 0 || shown >= max) continue;
      shown++;
      yield { evaluation, dueInMs: dueMs - now };
    }
  }

  stats(): BrokerStats {
    return {
      totalReady: this.queues.ready,
      totalUnacked: this.queues.unacked,
      totalPending: this.pendingCount,
      totalWaiting: this.due.size,
      totalCancelable: this.superseded.size,
      byScheduler: this.queues.byType(),
    };
  }

  // ---- taking in

  private take(evaluation: Evaluation, token: string): void {
    const known = this.tracked.get(evaluation.ID);
    if (!known) this.takeIn(evaluation);
    else if (token !== '' && known.delivery?.token === token) known.delivery.requeue = evaluation;
  }

  private takeIn(evaluation: Evaluation): void {
    const now = this.deps.clock.nowMs();
    const tracked: Tracked = {
      evaluation,
      priority: evaluation.Priority,
      createIndex: evaluation.CreateIndex,
      modifyIndex: evaluation.ModifyIndex,
      job: undefined,
      place: 'delayed',
      queue: evaluation.Type,
      deliveries: 0,
      enqueuedAtMs: now,
      timed: !this.restoring && this.timedCount < MAX_TIMED,
      dueMs: dueMsOf(evaluation, now),
      heapAt: -1,
      delivery: undefined,
    };
    if (tracked.timed) this.timedCount++;
    this.tracked.set(evaluation.ID, tracked);
    if (tracked.dueMs > now) this.due.push(tracked);
    else this.queueForJob(tracked);
  }

  /** Ready if its job is free, else pending behind the one that holds the job (EB-52). */
  private queueForJob(tracked: Tracked): void {
    const job = this.jobs.hold(tracked);
    if (job.holder === tracked) {
      this.makeReady(tracked);
      return;
    }
    tracked.place = 'pending';
    job.pending ??= new Heap<Tracked>(pendingBefore);
    job.pending.push(tracked);
    this.pendingCount++;
  }

  private makeReady(tracked: Tracked): void {
    tracked.place = 'ready';
    this.queues.push(tracked);
    this.waiting.wake(tracked.queue);
  }

  /** EB-56: the job's newest pending evaluation is next, all its others are superseded. */
  private releaseJob(job: JobSlot | undefined): void {
    if (!job) return;
    const { pending } = job;
    job.pending = undefined;
    job.holder = pending?.pop();
    if (!pending || !job.holder) {
      this.jobs.free(job);
      return;
    }
    this.pendingCount -= pending.size + 1;
    if (pending.size > 0) this.supersede(pending.takeAll());
    this.makeReady(job.holder);
  }

  /** Of one job, so either all or none of them are housekeeping, which has nothing to cancel in state (EB-99). */
  private supersede(group: Tracked[]): void {
    if (group[0]?.queue === CORE_TYPE) {
      for (const tracked of group) this.forget(tracked);
      return;
    }
    this.superseded.add(group);
  }

  // ---- delays

  private onDue(due: readonly Tracked[]): void {
    for (const tracked of due)
      if (tracked.place === 'redelivery') this.makeReady(tracked);
      else this.queueForJob(tracked);
    this.serve();
  }

  private redeliverLater(tracked: Tracked): void {
    const delayMs = redeliveryDelayMs(tracked.deliveries, this.options);
    tracked.enqueuedAtMs = this.deps.clock.nowMs();
    if (delayMs <= 0) {
      this.makeReady(tracked);
      return;
    }
    tracked.place = 'redelivery';
    tracked.dueMs = tracked.enqueuedAtMs + delayMs;
    this.due.push(tracked);
  }

  // ---- delivering

  private serve(): void {
    this.waiting.serve((types) => this.deliverNext(types));
  }

  private deliverNext(types: readonly string[]): Delivery | undefined {
    for (let tracked = this.queues.pop(types); tracked; tracked = this.queues.pop(types)) {
      const delivery = this.deliver(tracked);
      if (delivery) return delivery;
    }
    return undefined;
  }

  /** Undefined if the evaluation was deleted meanwhile: it is gone as if acked (EB-337). */
  private deliver(tracked: Tracked): Delivery | undefined {
    const { ID, Namespace, JobID, Type } = tracked.evaluation;
    const row = Type === CORE_TYPE ? tracked.evaluation : this.deps.rows.evaluation(ID);
    if (!row) {
      this.forget(tracked);
      this.releaseJob(tracked.job);
      return undefined;
    }
    tracked.place = 'unacked';
    tracked.deliveries++;
    const now = this.deps.clock.nowMs();
    const delivery: Outstanding = { tracked, token: this.deps.newId(), sinceMs: now, requeue: undefined };
    this.observe(tracked, 'broker.wait_time', now - tracked.enqueuedAtMs);
    tracked.delivery = delivery;
    this.nackTimers.start(delivery);
    this.queues.began(tracked.queue);
    try {
      const waitIndex = Math.max(row.ModifyIndex, this.deps.rows.highestEvalIndex(Namespace, JobID));
      return { evaluation: row, token: delivery.token, waitIndex, enqueuedAtMs: tracked.enqueuedAtMs };
    } catch (error) {
      this.endWithoutSuccess(tracked, delivery); // EB-69
      throw error;
    }
  }

  private endDelivery(tracked: Tracked, delivery: Outstanding): void {
    this.nackTimers.stop(delivery);
    const now = this.deps.clock.nowMs();
    this.observe(tracked, 'broker.process_time', now - delivery.sinceMs);
    this.observe(tracked, 'broker.response_time', now - tracked.enqueuedAtMs);
    tracked.delivery = undefined;
    this.queues.ended(tracked.queue);
  }

  private observe(tracked: Tracked, timer: EvalTimer, ms: number): void {
    if (tracked.timed) this.meter.observeEval(timer, ms, tracked.evaluation);
  }

  /** The one place where an evaluation leaves. */
  private forget(tracked: Tracked): void {
    this.tracked.delete(tracked.evaluation.ID);
    if (tracked.timed) this.timedCount--;
  }

  private delivered(evalId: string, token: string): { tracked: Tracked; delivery: Outstanding } {
    const tracked = this.tracked.get(evalId);
    if (!tracked?.delivery) throw new EvalNotFoundError(evalId);
    if (tracked.delivery.token !== token) throw new TokenMismatchError(evalId);
    return { tracked, delivery: tracked.delivery };
  }

  private worked(evalId: string, token: string): { tracked: Tracked; delivery: Outstanding } {
    const tracked = this.tracked.get(evalId);
    if (!tracked?.delivery) throw new NotOutstandingError(evalId);
    if (tracked.delivery.token !== token) throw new StaleTokenError(evalId);
    return { tracked, delivery: tracked.delivery };
  }

  /** A new generation: timers of the old one find nothing of theirs (EB-115, EB-122). */
  private flush(): void {
    this.tracked = new Map();
    this.timedCount = 0;
    this.pendingCount = 0;
    this.jobs.clear();
    this.queues.clear();
    this.due.clear();
    this.nackTimers.clear();
    this.superseded.clear();
  }
}

/** EB-50. */
function pendingBefore(a: Tracked, b: Tracked): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.modifyIndex !== b.modifyIndex) return a.modifyIndex > b.modifyIndex;
  return a.evaluation.ID < b.evaluation.ID;
}
