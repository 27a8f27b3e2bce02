import { type Clock, CORE_TYPE, type Evaluation, type Timers } from '@waybill/model';
import type { Meter } from '../meter.js';
import { DelayedEvaluations } from './delayed-evaluations.js';
import { JobQueues, SupersededEvaluations } from './job-queues.js';
import { ReadyQueues } from './ready-queues.js';
import {
  dueMsOf,
  FAILED_QUEUE,
  type JobQueue,
  type TrackedEvaluation,
  TrackedEvaluations,
  type UnackedDelivery,
} from './tracked-evaluations.js';
import {
  DEFAULT_BROKER_OPTIONS,
  type EvalBrokerOptions,
  redeliveryDelayMs,
  UnackedDeliveries,
} from './unacked-deliveries.js';
import { asError, type Delivery, WaitingDequeues } from './waiting-dequeues.js';

/** The rows of the evaluations table that the queue reads. */
export interface EvalRows {
  /** The row as it is now, undefined if it was deleted. */
  evaluation(id: string): Evaluation | undefined;
  /** Highest ModifyIndex of all evaluations of exactly this job, 0 if it has none (EB-67, EB-68). */
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
 * The queue of evaluations. It delivers each one to workers at least once, by priority, one at a time for each job.
 *
 * Modes: disabled (ignores enqueues, holds nothing) → enabled → disabled. Every change of mode empties the queue, and the
 * owner restores it from state (EB-111 to EB-123).
 * An evaluation is, from enqueue to ack, in exactly one place: delayed (not due yet) → pending (behind another evaluation
 * of its job) or ready → unacked (at a worker) → forgotten. A nack leads to redelivery (waits, and stays its job's current
 * evaluation) and then back to ready, or to the failed queue once the delivery limit is reached. The ack of a job's
 * evaluation makes the job's newest pending one ready and supersedes the others, which are cancelable: the owner writes
 * them as canceled, and they are forgotten.
 * Limits: deliveryLimit, nackTimeoutMs; one timer for all delays, one for all deliveries. Memory: one record for each
 * evaluation, none while disabled. Cost: O(log n) for every operation, O(1) for statistics.
 */
export class EvalBroker {
  private enabled = false;
  /** The deliveries that workers work on. */
  readonly deliveries: UnackedDeliveries;
  /** The evaluations that wait for a time. */
  readonly delayed: DelayedEvaluations;
  /** The evaluations that the owner has to write as canceled. */
  readonly superseded: SupersededEvaluations;
  private readonly options: EvalBrokerOptions;
  private restoring = false;
  private readonly tracked: TrackedEvaluations;
  private readonly jobs: JobQueues;
  private readonly queues: ReadyQueues;
  private readonly waiting: WaitingDequeues;

  constructor(
    private readonly deps: EvalBrokerDeps,
    options: Partial<EvalBrokerOptions> = {},
  ) {
    this.options = { ...DEFAULT_BROKER_OPTIONS, ...options };
    this.tracked = new TrackedEvaluations(deps.meter);
    this.jobs = new JobQueues(deps.clock);
    this.superseded = new SupersededEvaluations(this.tracked);
    this.queues = new ReadyQueues(deps.random);
    this.waiting = new WaitingDequeues(deps.timers, (types) => this.deliverNext(types));
    this.delayed = new DelayedEvaluations({ ...deps, onDue: (due) => this.endDelays(due) });
    const { nackTimeoutMs } = this.options;
    const onNack = (delivery: UnackedDelivery): void => {
      this.failDelivery(delivery);
      this.waiting.serve();
    };
    this.deliveries = new UnackedDeliveries({ ...deps, tracked: this.tracked, nackTimeoutMs, onNack });
  }

  get isEnabled(): boolean {
    return this.enabled;
  }

  /** Changes the mode, which flushes everything and ends waiting dequeues (EB-114). No-op if it is the mode already. */
  setEnabled(enabled: boolean): void {
    if (enabled === this.enabled) return;
    this.enabled = enabled;
    this.flush();
    this.waiting.endAll();
  }

  /** Tracks an evaluation; no-op if it is tracked already or the broker is disabled (EB-32, EB-112). */
  enqueue(evaluation: Evaluation, token = ''): void {
    if (!this.enabled) return;
    this.trackOrRequeue(evaluation, token);
    this.waiting.serve();
  }

  /** Tracks several evaluations before any waiting dequeue is answered (EB-35). `token`: of the delivery that reblocked it. */
  enqueueAll(batch: Iterable<{ readonly evaluation: Evaluation; readonly token: string }>): void {
    if (!this.enabled) return;
    for (const { evaluation, token } of batch) this.trackOrRequeue(evaluation, token);
    this.waiting.serve();
  }

  /** As `enqueueAll`, for evaluations read from state. Their times are not measured, because nobody knows them (EB-137). */
  restore(evaluations: Iterable<Evaluation>): void {
    if (!this.enabled) return;
    this.restoring = true;
    for (const evaluation of evaluations) this.trackOrRequeue(evaluation, '');
    this.restoring = false;
    this.waiting.serve();
  }

  /**
   * Delivers the next evaluation of one of these types, and waits for one if none is ready (EB-61, EB-62).
   *
   * @param timeoutMs 0: no timeout
   * @returns null after the timeout, or when the broker was disabled at the call and the mode changed (EB-117)
   * @throws NotHolderError if it is disabled while waiting (EB-116)
   */
  dequeue(types: readonly string[], timeoutMs: number): Promise<Delivery | null> {
    try {
      const ready = this.dequeueReady(types);
      return ready ? Promise.resolve(ready) : this.waiting.wait(types, timeoutMs, !this.enabled);
    } catch (error) {
      return Promise.reject(asError(error));
    }
  }

  /** Delivers an evaluation that is ready now, undefined if there is none. */
  dequeueReady(types: readonly string[]): Delivery | undefined {
    try {
      return this.enabled ? this.deliverNext(types) : undefined;
    } finally {
      this.waiting.serve();
    }
  }

  /** Ends a delivery with success. @throws EvalNotFoundError, TokenMismatchError */
  ack(evalId: string, token: string): void {
    const delivery = this.deliveries.requireUnacked(evalId, token);
    const { tracked } = delivery;
    this.endDelivery(delivery);
    this.tracked.forget(tracked);
    this.releaseJob(tracked.job);
    if (delivery.requeue) this.track(delivery.requeue);
    this.waiting.serve();
  }

  /**
   * Ends a delivery without success (EB-79 to EB-86): the evaluation is redelivered after a delay, or goes to the failed
   * queue. While a plan of the delivery is at the applier, the nack waits for its answer (EB-329).
   * @throws EvalNotFoundError, TokenMismatchError
   */
  nack(evalId: string, token: string): void {
    this.deliveries.nack(this.deliveries.requireUnacked(evalId, token));
  }

  /** Forgets an evaluation if it is delayed; in any other place it stays (EB-45, EB-46). */
  dropDelayed(evalId: string): void {
    const tracked = this.tracked.get(evalId);
    if (tracked?.place !== 'delayed') return;
    this.delayed.remove(tracked);
    this.tracked.forget(tracked);
  }

  stats(): BrokerStats {
    return {
      totalReady: this.queues.ready,
      totalUnacked: this.queues.unacked,
      totalPending: this.jobs.pending,
      totalWaiting: this.delayed.size,
      totalCancelable: this.superseded.size,
      byScheduler: this.queues.byType(),
    };
  }

  // ---- enqueueing

  /** An evaluation that is tracked already is enqueued anew after the ack if the delivery with this token reblocked it. */
  private trackOrRequeue(evaluation: Evaluation, token: string): void {
    const known = this.tracked.get(evaluation.ID);
    if (!known) this.track(evaluation);
    else if (token !== '') this.deliveries.requeueAfterAck(evaluation, token);
  }

  private track(evaluation: Evaluation): void {
    const now = this.deps.clock.nowMs();
    const tracked = this.tracked.add(evaluation, this.queues.queueOf(evaluation.Type), now, !this.restoring);
    const dueMs = dueMsOf(evaluation, now);
    if (dueMs > now) this.delayed.push(tracked, dueMs);
    else this.queueForJob(tracked);
  }

  /** Makes it ready if its job has no current evaluation, else pending (EB-52). */
  private queueForJob(tracked: TrackedEvaluation): void {
    if (this.jobs.enter(tracked)) this.makeReady(tracked);
  }

  private makeReady(tracked: TrackedEvaluation): void {
    tracked.becomeReady();
    this.queues.push(tracked);
    this.waiting.signal(tracked.queue.type);
  }

  /** Makes the job's newest pending evaluation ready and supersedes its other ones (EB-56). */
  private releaseJob(job: JobQueue | undefined): void {
    const next = job && this.jobs.release(job, this.supersede);
    if (next) this.makeReady(next);
  }

  /** The group is of one job, so all or none of it is housekeeping, which state does not hold: nothing to cancel (EB-99). */
  private readonly supersede = (group: TrackedEvaluation[]): void => {
    if (group[0]?.evaluation.Type === CORE_TYPE) for (const tracked of group) this.tracked.forget(tracked);
    else this.superseded.add(group);
  };

  // ---- delays

  private endDelays(due: readonly TrackedEvaluation[]): void {
    for (const tracked of due)
      if (tracked.place === 'redelivery') this.makeReady(tracked);
      else this.queueForJob(tracked);
    this.waiting.serve();
  }

  private redeliverLater(tracked: TrackedEvaluation): void {
    const delayMs = redeliveryDelayMs(tracked.deliveries, this.options);
    tracked.awaitRedelivery(this.deps.clock.nowMs());
    if (delayMs <= 0) this.makeReady(tracked);
    else this.delayed.push(tracked, tracked.enqueuedAtMs + delayMs);
  }

  // ---- delivering

  private deliverNext(types: readonly string[]): Delivery | undefined {
    for (let tracked = this.queues.pop(types); tracked; tracked = this.queues.pop(types)) {
      const delivery = this.deliver(tracked);
      if (delivery) return delivery;
    }
    return undefined;
  }

  /** Undefined if the evaluation was deleted meanwhile: it is forgotten as if it had been acked (EB-337). */
  private deliver(tracked: TrackedEvaluation): Delivery | undefined {
    const { ID, Namespace, JobID, Type } = tracked.evaluation;
    const row = Type === CORE_TYPE ? tracked.evaluation : this.deps.rows.evaluation(ID);
    if (!row) {
      this.tracked.forget(tracked);
      this.releaseJob(tracked.job);
      return undefined;
    }
    const now = this.deps.clock.nowMs();
    this.tracked.observe(tracked, 'broker.wait_time', now - tracked.enqueuedAtMs);
    const delivery = this.deliveries.begin(tracked, now);
    this.queues.countUnacked(tracked.queue);
    try {
      const waitIndex = Math.max(row.ModifyIndex, this.deps.rows.highestEvalIndex(Namespace, JobID));
      const { enqueuedAtMs, job } = tracked;
      return { evaluation: row, token: delivery.token, waitIndex, dueNs: job?.dueNs ?? 0, enqueuedAtMs };
    } catch (error) {
      this.failDelivery(delivery); // An error in a look-up counts as a nack (EB-69).
      throw error;
    }
  }

  private failDelivery(delivery: UnackedDelivery): void {
    this.endDelivery(delivery);
    const { tracked } = delivery;
    tracked.recordFailedDelivery(delivery, this.deps.clock.nowMs());
    if (tracked.deliveries >= this.options.deliveryLimit) {
      tracked.moveToQueue(this.queues.queueOf(FAILED_QUEUE), this.deps.clock.nowMs());
      this.makeReady(tracked);
    } else this.redeliverLater(tracked);
  }

  private endDelivery(delivery: UnackedDelivery): void {
    const { tracked } = delivery;
    this.deliveries.end(delivery);
    this.queues.uncountUnacked(tracked.queue);
    if (!tracked.timed) return;
    const now = this.deps.clock.nowMs();
    this.tracked.observe(tracked, 'broker.process_time', now - delivery.sinceMs);
    this.tracked.observe(tracked, 'broker.response_time', now - tracked.enqueuedAtMs);
  }

  /** Forgets everything; timers that were armed before find nothing left to do (EB-115, EB-122). */
  private flush(): void {
    this.tracked.clear();
    this.jobs.clear();
    this.queues.clear();
    this.delayed.clear();
    this.deliveries.clear();
    this.superseded.clear();
  }
}
