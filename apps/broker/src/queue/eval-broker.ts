import { CORE_TYPE, type Evaluation } from '@waybill/model';
import type { Clock, Timers } from '@waybill/model';
import { Deliveries } from './deliveries.js';
import {
  DEFAULT_BROKER_OPTIONS,
  FAILED_QUEUE,
  redeliveryDelayMs,
  type Delivery,
  type EvalBrokerOptions,
  type EvalRows,
} from './delivery.js';
import { returned } from './delivery-steps.js';
import { DueEvaluations, dueMsOf } from './due-evaluations.js';
import { EvaluationTimes } from './evaluation-times.js';
import { JobSlots } from './job-slots.js';
import type { Meter } from '../meter.js';
import { ReadyQueues } from './ready-queues.js';
import { Superseded } from './superseded.js';
import type { JobSlot, Outstanding, Tracked } from './tracked-evaluation.js';
import { TrackedEvaluations } from './tracked-evaluations.js';
import { asError, WaitingDequeues } from './waiting-dequeues.js';

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
  /** What waits for a time. */
  readonly due: DueEvaluations;
  /** What the owner has to write as canceled. */
  readonly superseded: Superseded;
  private readonly options: EvalBrokerOptions;
  private restoring = false;
  private readonly times: EvaluationTimes;
  private readonly tracked: TrackedEvaluations;
  private readonly jobs = new JobSlots();
  private readonly queues: ReadyQueues;
  private readonly waiting: WaitingDequeues;

  constructor(
    private readonly deps: EvalBrokerDeps,
    options: Partial<EvalBrokerOptions> = {},
  ) {
    this.options = { ...DEFAULT_BROKER_OPTIONS, ...options };
    this.times = new EvaluationTimes(deps.meter);
    this.tracked = new TrackedEvaluations(this.times);
    this.superseded = new Superseded(this.tracked);
    this.queues = new ReadyQueues(deps.random);
    this.waiting = new WaitingDequeues(deps.timers, (types) => this.deliverNext(types));
    this.due = new DueEvaluations({ ...deps, onDue: (due) => this.onDue(due) });
    this.deliveries = new Deliveries({ ...deps, tracked: this.tracked }, this.options.nackTimeoutMs, (delivery) => {
      this.endWithoutSuccess(delivery);
      this.waiting.serve();
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
    this.waiting.serve();
  }

  /** Takes in several before any waiting dequeue is answered (EB-35). `token`: of the delivery that reblocked it. */
  enqueueAll(batch: Iterable<{ readonly evaluation: Evaluation; readonly token: string }>): void {
    if (!this.enabled) return;
    for (const { evaluation, token } of batch) this.take(evaluation, token);
    this.waiting.serve();
  }

  /** As `enqueueAll`, for what the durable evaluations say: without times, which nobody knows (EB-137). */
  restore(evaluations: Iterable<Evaluation>): void {
    if (!this.enabled) return;
    this.restoring = true;
    for (const evaluation of evaluations) this.take(evaluation, '');
    this.restoring = false;
    this.waiting.serve();
  }

  /**
   * The next evaluation of one of these types (EB-61, EB-62). With nothing ready it waits.
   *
   * @param timeoutMs 0: for ever
   * @returns null after the timeout, or when the broker was disabled at the call and the mode changed (EB-117)
   * @throws NotHolderError if it is disabled while waiting (EB-116)
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
      this.waiting.serve();
    }
  }

  /** Ends a delivery with success. @throws EvalNotFoundError, TokenMismatchError */
  ack(evalId: string, token: string): void {
    const delivery = this.deliveries.answered(evalId, token);
    const { tracked } = delivery;
    this.endDelivery(delivery);
    this.tracked.forget(tracked);
    this.releaseJob(tracked.job);
    if (delivery.requeue) this.takeIn(delivery.requeue);
    this.waiting.serve();
  }

  /** Ends a delivery without success: it comes again after a delay, or goes to the failed queue (EB-79 to EB-86); see `Deliveries.giveBack`. */
  nack(evalId: string, token: string): void {
    this.deliveries.giveBack(this.deliveries.answered(evalId, token));
  }

  /** Forgets an evaluation that is not due yet; anything else is left alone (EB-45, EB-46). */
  drop(evalId: string): void {
    const tracked = this.tracked.get(evalId);
    if (tracked?.place !== 'delayed') return;
    this.due.remove(tracked);
    this.tracked.forget(tracked);
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

  /** Remembers an evaluation that is outstanding under this token: it is enqueued as new after the ack (EB-92). */
  private requeueAfter(evaluation: Evaluation, token: string): void {
    const delivery = this.deliveries.find(evaluation.ID, token);
    if (delivery) delivery.requeue = evaluation;
  }

  private takeIn(evaluation: Evaluation): void {
    const now = this.deps.clock.nowMs();
    const tracked = this.tracked.add(evaluation, this.queues.of(evaluation.Type), now, !this.restoring);
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
    this.waiting.wake(tracked.queue.type);
  }

  /** EB-56: the job's newest pending evaluation is next, all its others are superseded. */
  private releaseJob(job: JobSlot | undefined): void {
    const next = job && this.jobs.pass(job, this.supersede);
    if (!next) return;
    job.passedAtMs = this.deps.clock.nowMs();
    this.makeReady(next);
  }

  /** Of one job, so either all or none of them are housekeeping, which has nothing to cancel in state (EB-99). */
  private readonly supersede = (group: Tracked[]): void => {
    if (group[0]?.evaluation.Type === CORE_TYPE) for (const tracked of group) this.tracked.forget(tracked);
    else this.superseded.add(group);
  };

  // ---- delays

  private onDue(due: readonly Tracked[]): void {
    for (const tracked of due)
      if (tracked.place === 'redelivery') this.makeReady(tracked);
      else this.queueForJob(tracked);
    this.waiting.serve();
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
      this.tracked.forget(tracked);
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
      const { enqueuedAtMs, job } = tracked;
      return { evaluation: row, token: delivery.token, waitIndex, dueNs: job?.dueNs ?? 0, enqueuedAtMs };
    } catch (error) {
      this.endWithoutSuccess(delivery); // EB-69
      throw error;
    }
  }

  private endWithoutSuccess(delivery: Outstanding): void {
    this.endDelivery(delivery);
    const { tracked } = delivery;
    returned(delivery, this.deps.clock.nowMs());
    if (tracked.deliveries >= this.options.deliveryLimit) {
      tracked.queue = this.queues.of(FAILED_QUEUE);
      tracked.enqueuedAtMs = this.deps.clock.nowMs();
      this.makeReady(tracked);
    } else this.redeliverLater(tracked);
  }

  private endDelivery(delivery: Outstanding): void {
    const { tracked } = delivery;
    this.deliveries.end(delivery);
    this.queues.ended(tracked.queue);
    if (!tracked.timed) return;
    const now = this.deps.clock.nowMs();
    this.times.observe(tracked, 'broker.process_time', now - delivery.sinceMs);
    this.times.observe(tracked, 'broker.response_time', now - tracked.enqueuedAtMs);
  }

  /** A new generation: timers of the old one find nothing of theirs (EB-115, EB-122). */
  private flush(): void {
    this.tracked.clear();
    this.jobs.clear();
    this.queues.clear();
    this.due.clear();
    this.deliveries.clear();
    this.superseded.clear();
  }
}
