import { CORE_TYPE, type Evaluation } from '@waybill/model';
import type { Clock, Timers } from '@waybill/model';
import { Deliveries } from './deliveries.js';
import {
  DEFAULT_BROKER_OPTIONS,
  FAILED_QUEUE,
  redeliveryDelayMs,
  type Delivery,
  type EvalBrokerOptions,
} from './delivery.js';
import { DueEvaluations, dueMsOf } from './due-evaluations.js';
import { EvaluationTimes } from './evaluation-times.js';
import { JobSlots } from './job-slots.js';
import type { Meter } from './meter.js';
import { ReadyQueues } from './ready-queues.js';
import { Superseded } from './superseded.js';
import type { JobSlot, Outstanding, Tracked } from './tracked-evaluation.js';
import { asError, WaitingDequeues } from './waiting-dequeues.js';

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
  /** What workers have in their hands. */
  readonly deliveries: Deliveries;
  private readonly options: EvalBrokerOptions;
  private tracked = new Map<string, Tracked>();
  private restoring = false;
  private readonly times: EvaluationTimes;
  private readonly jobs = new JobSlots();
  private readonly queues: ReadyQueues;
  private readonly due: DueEvaluations;
  private readonly superseded = new Superseded();
  private readonly waiting: WaitingDequeues;

  constructor(
    private readonly deps: EvalBrokerDeps,
    options: Partial<EvalBrokerOptions> = {},
  ) {
    this.options = { ...DEFAULT_BROKER_OPTIONS, ...options };
    this.times = new EvaluationTimes(deps.meter);
    this.queues = new ReadyQueues(deps.random);
    this.waiting = new WaitingDequeues(deps.timers);
    this.due = new DueEvaluations({ ...deps, onDue: (due) => this.onDue(due) });
    this.deliveries = new Deliveries(deps, this.options.nackTimeoutMs, (delivery) => {
      this.endWithoutSuccess(delivery);
      this.serve();
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
    const delivery = this.deliveries.answered(evalId, token);
    const { tracked } = delivery;
    this.endDelivery(delivery);
    this.forget(tracked);
    this.releaseJob(tracked.job);
    if (delivery.requeue) this.takeIn(delivery.requeue);
    this.serve();
  }

  /** Ends a delivery without success: it comes again after a delay, or goes to the failed queue (EB-79 to EB-86). */
  nack(evalId: string, token: string): void {
    this.endWithoutSuccess(this.deliveries.answered(evalId, token));
    this.serve();
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
    for (const { tracked, dueMs } of this.due.values()) {
      const { evaluation, place } = tracked;
      if (place !== 'delayed' || evaluation.Wait > 0 || shown >= max) continue;
      shown++;
      yield { evaluation, dueInMs: dueMs - now };
    }
  }

  stats(): BrokerStats {
    return {
      totalReady: this.queues.ready,
      totalUnacked: this.queues.unacked,
      totalPending: this.jobs.pending,
      totalWaiting: this.due.size,
      totalCancelable: this.superseded.size,
      byScheduler: this.queues.byType(),
    };
  }

  // ---- taking in

  private take(evaluation: Evaluation, token: string): void {
    const known = this.tracked.get(evaluation.ID);
    if (!known) this.takeIn(evaluation);
    else if (token !== '') this.requeueAfter(evaluation, token);
  }

  /** EB-92. */
  private requeueAfter(evaluation: Evaluation, token: string): void {
    const delivery = this.deliveries.find(evaluation.ID, token);
    if (delivery) delivery.requeue = evaluation;
  }

  private takeIn(evaluation: Evaluation): void {
    const now = this.deps.clock.nowMs();
    const tracked: Tracked = {
      evaluation,
      job: undefined,
      place: 'delayed',
      queue: evaluation.Type,
      deliveries: 0,
      enqueuedAtMs: now,
      timed: !this.restoring && this.times.begin(),
      delay: undefined,
    };
    this.tracked.set(evaluation.ID, tracked);
    const dueMs = dueMsOf(evaluation, now);
    if (dueMs > now) this.due.push(tracked, dueMs);
    else this.queueForJob(tracked);
  }

  /** Ready if its job is free, else pending behind the one that holds the job (EB-52). */
  private queueForJob(tracked: Tracked): void {
    if (this.jobs.enter(tracked)) this.makeReady(tracked);
    else tracked.place = 'pending';
  }

  private makeReady(tracked: Tracked): void {
    tracked.place = 'ready';
    this.queues.push(tracked);
    this.waiting.wake(tracked.queue);
  }

  /** EB-56: the job's newest pending evaluation is next, all its others are superseded. */
  private releaseJob(job: JobSlot | undefined): void {
    const next = job && this.jobs.pass(job, this.supersede);
    if (next) this.makeReady(next);
  }

  /** Of one job, so either all or none of them are housekeeping, which has nothing to cancel in state (EB-99). */
  private readonly supersede = (group: Tracked[]): void => {
    if (group[0]?.queue === CORE_TYPE) for (const tracked of group) this.forget(tracked);
    else this.superseded.add(group);
  };

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
    this.due.push(tracked, tracked.enqueuedAtMs + delayMs);
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
    this.times.observe(tracked, 'broker.wait_time', now - tracked.enqueuedAtMs);
    const delivery = this.deliveries.begin(tracked, now);
    this.queues.began(tracked.queue);
    try {
      const waitIndex = Math.max(row.ModifyIndex, this.deps.rows.highestEvalIndex(Namespace, JobID));
      return { evaluation: row, token: delivery.token, waitIndex, enqueuedAtMs: tracked.enqueuedAtMs };
    } catch (error) {
      this.endWithoutSuccess(delivery); // EB-69
      throw error;
    }
  }

  private endWithoutSuccess(delivery: Outstanding): void {
    this.endDelivery(delivery);
    const { tracked } = delivery;
    if (tracked.queue === FAILED_QUEUE || tracked.deliveries >= this.options.deliveryLimit) {
      tracked.queue = FAILED_QUEUE;
      tracked.enqueuedAtMs = this.deps.clock.nowMs();
      this.makeReady(tracked);
    } else this.redeliverLater(tracked);
  }

  private endDelivery(delivery: Outstanding): void {
    const { tracked } = delivery;
    this.deliveries.end(delivery);
    const now = this.deps.clock.nowMs();
    this.times.observe(tracked, 'broker.process_time', now - delivery.sinceMs);
    this.times.observe(tracked, 'broker.response_time', now - tracked.enqueuedAtMs);
    this.queues.ended(tracked.queue);
  }

  /** The one place where an evaluation leaves. */
  private forget(tracked: Tracked): void {
    this.tracked.delete(tracked.evaluation.ID);
    this.times.end(tracked);
  }

  /** A new generation: timers of the old one find nothing of theirs (EB-115, EB-122). */
  private flush(): void {
    this.tracked = new Map();
    this.times.clear();
    this.jobs.clear();
    this.queues.clear();
    this.due.clear();
    this.deliveries.clear();
    this.superseded.clear();
  }
}
