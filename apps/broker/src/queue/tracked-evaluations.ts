import { msFromNs, nsFromRfc3339, type Evaluation, type StatedTime } from '@waybill/model';
import { StepLine } from '@waybill/state';
import { type EvalTimer, type Meter, noMeter } from '../meter.js';
import type { HeapElement, RankedHeap } from './heap.js';

/** Queue of evaluations that no worker could finish; only the reaper dequeues from it (EB-85). */
export const FAILED_QUEUE = '_failed';
/** Failed deliveries of one evaluation that the queue remembers: as many as the delivery limit allows, and a few more. */
export const MAX_FAILED_DELIVERIES = 8;
/** Evaluations whose times are measured at once; further ones yield no samples (EB-321). */
export const MAX_TIMED = 10_000;

/** Ready evaluations of one priority, oldest first (EB-49). */
export interface PriorityLevel {
  readonly priority: number;
  readonly heap: RankedHeap<TrackedEvaluation>;
}

/** Ready evaluations of one scheduler type, and how many of that type are unacked. */
export interface ReadyQueue {
  readonly type: string;
  /** The levels that hold an evaluation, highest priority first (EB-48). A cluster uses few priorities. */
  readonly levels: PriorityLevel[];
  ready: number;
  unacked: number;
}

/** An evaluation's wait for a time of day. */
export interface Delay extends HeapElement, StatedTime {
  readonly tracked: TrackedEvaluation;
  /** Unix ms, by the clock as it was set last. */
  dueMs: number;
}

/** The evaluations of one job: one is current, the others are pending behind it. */
export interface JobQueue {
  readonly namespace: string;
  readonly id: string;
  /** The evaluation that is ready, unacked or awaiting redelivery (EB-52). */
  current: TrackedEvaluation;
  /** Unix ms at which the previous evaluation made room for the current one; 0: there was no previous one. */
  releasedAtMs: number;
  /** Unix ns: the latest `WaitUntil` of all evaluations that entered, each of which has passed. 0: none had one. */
  dueNs: number;
  /** The newest pending evaluation, which is current next. */
  newest: TrackedEvaluation | undefined;
  /** Copies of the newest one's fields, so that comparing with it does not fetch it from memory. */
  newestPriority: number;
  newestModifyIndex: number;
  /** The other pending evaluations: superseded as soon as `newest` is current. Made when the first one comes. */
  older: TrackedEvaluation[] | undefined;
}

/** A delivery that a worker has neither acked nor nacked yet. */
export interface UnackedDelivery {
  readonly tracked: TrackedEvaluation;
  readonly token: string;
  readonly sinceMs: number;
  /** The evaluation as the worker reblocked and an unblock enqueued it: it is tracked anew after the ack (EB-92). */
  requeue: Evaluation | undefined;
  /** Steps that no transaction has carried yet; made when the first transaction is about to carry them. */
  steps: StepLine | undefined;
  /** Plans of this delivery at the plan applier; its nack timer is paused meanwhile (EB-88). */
  plansInApplier: number;
  /** A nack arrived while plans were at the applier, and takes effect when the last of them is answered. */
  isNacked: boolean;
  /** Unix ms at which the nack timer expires, and the delivery's neighbours in the chain of nack timers. */
  deadlineMs: number;
  sooner: UnackedDelivery | undefined;
  later: UnackedDelivery | undefined;
}

/** A delivery that ended without success; unix ms. */
export interface FailedDelivery {
  readonly enqueuedMs: number;
  readonly dequeuedMs: number;
  readonly failedMs: number;
}

export type Place = 'ready' | 'unacked' | 'pending' | 'delayed' | 'redelivery' | 'cancelable';

/**
 * The queue's record of one evaluation, from enqueue to ack. Other parts read its fields, and change them only through
 * its methods, one for each way between two places; `EvalBroker` describes these ways. It is in exactly one place at a time.
 */
export class TrackedEvaluation {
  // The fields that each delivery and each comparison reads come first: with a million evaluations waiting, each cache line
  // that is fetched costs as much as the rest of the work.
  readonly evaluation: Evaluation;
  /** Undefined until the evaluation is due for the first time. */
  job: JobQueue | undefined = undefined;
  place: Place = 'delayed';
  /** The queue of its scheduler type, or the failed queue. */
  queue: ReadyQueue;
  deliveries = 0;
  /** Set while the evaluation is unacked. */
  delivery: UnackedDelivery | undefined = undefined;
  enqueuedAtMs: number;
  /** Its times go to the meter (EB-321). */
  readonly timed: boolean;
  /** Oldest first. */
  failedDeliveries: readonly FailedDelivery[] | undefined = undefined;
  /** Its latest wait for a time, which may be over. */
  delay: Delay | undefined = undefined;

  constructor(evaluation: Evaluation, queue: ReadyQueue, enqueuedAtMs: number, timed: boolean) {
    this.evaluation = evaluation;
    this.queue = queue;
    this.enqueuedAtMs = enqueuedAtMs;
    this.timed = timed;
  }

  /** Starts its wait for a time, as delayed or awaiting redelivery. */
  startDelay(delay: Delay): void {
    this.delay = delay;
  }

  /** Makes it one of the job's evaluations: the current one, or pending behind that. */
  enterJob(job: JobQueue): void {
    this.job = job;
    if (job.current !== this) this.place = 'pending';
  }

  becomeReady(): void {
    this.place = 'ready';
  }

  beginDelivery(delivery: UnackedDelivery): void {
    this.place = 'unacked';
    this.delivery = delivery;
    this.deliveries++;
  }

  endDelivery(): void {
    this.delivery = undefined;
  }

  /** Remembers the delivery that failed, so that the steps of the next one include it. */
  recordFailedDelivery({ sinceMs: dequeuedMs }: UnackedDelivery, nowMs: number): void {
    const failed = { enqueuedMs: this.enqueuedAtMs, dequeuedMs, failedMs: nowMs };
    this.failedDeliveries = [...(this.failedDeliveries ?? []), failed].slice(-MAX_FAILED_DELIVERIES);
  }

  /** Begins the wait for its next delivery. */
  awaitRedelivery(nowMs: number): void {
    this.place = 'redelivery';
    this.enqueuedAtMs = nowMs;
  }

  moveToQueue(queue: ReadyQueue, nowMs: number): void {
    this.queue = queue;
    this.enqueuedAtMs = nowMs;
  }

  /** A newer evaluation of its job superseded it, and the owner is about to write it as canceled. */
  becomeCancelable(): void {
    this.place = 'cancelable';
  }
}

/**
 * The records of all tracked evaluations by id (EB-32), and which of them have their times measured: those that the log
 * delivered live, up to MAX_TIMED at once. Cost: O(1).
 */
export class TrackedEvaluations {
  private byId = new Map<string, TrackedEvaluation>();
  private timed = 0;

  constructor(private readonly meter: Meter = noMeter) {}

  get(evalId: string): TrackedEvaluation | undefined {
    return this.byId.get(evalId);
  }

  /** @param measured whether its times mean anything: not if it was enqueued before this process knew of it (EB-137) */
  add(evaluation: Evaluation, queue: ReadyQueue, nowMs: number, measured: boolean): TrackedEvaluation {
    const timed = measured && this.timed < MAX_TIMED;
    if (timed) this.timed++;
    const tracked = new TrackedEvaluation(evaluation, queue, nowMs, timed);
    this.byId.set(evaluation.ID, tracked);
    return tracked;
  }

  /** Removes the record. Nothing else does, except `clear`. */
  forget(tracked: TrackedEvaluation): void {
    this.byId.delete(tracked.evaluation.ID);
    if (tracked.timed) this.timed--;
  }

  /** Gives a time of the evaluation to the meter, if its times are measured. */
  observe({ evaluation, timed }: TrackedEvaluation, timer: EvalTimer, ms: number): void {
    if (timed) this.meter.observeEval(timer, ms, evaluation);
  }

  clear(): void {
    this.byId = new Map();
    this.timed = 0;
  }
}

/** When the evaluation is due, unix ms: `Wait` counts from now and takes precedence over `WaitUntil` (EB-34). */
export function dueMsOf(evaluation: Evaluation, nowMs: number): number {
  if (evaluation.Wait > 0) return nowMs + Math.ceil(evaluation.Wait / 1e6);
  return evaluation.WaitUntil === null ? nowMs : msFromNs(nsFromRfc3339(evaluation.WaitUntil));
}

/**
 * The steps of a delivery, beginning with the steps that led to it. They are computed when the first transaction is about
 * to carry them, so that a delivery that is acked without a write costs nothing.
 */
export function stepsOf(delivery: UnackedDelivery): StepLine {
  return (delivery.steps ??= stepsBefore(delivery));
}

function stepsBefore({ tracked, sinceMs }: UnackedDelivery): StepLine {
  const { failedDeliveries = [], deliveries } = tracked;
  const line = new StepLine(sinceMs);
  let attempt = deliveries - failedDeliveries.length;
  const [first] = failedDeliveries;
  addWaits(line, tracked, first ?? { enqueuedMs: tracked.enqueuedAtMs, dequeuedMs: sinceMs });
  for (const { dequeuedMs, failedMs } of failedDeliveries) {
    line.add('dequeued', dequeuedMs, undefined, attempt++);
    line.add('rejected', failedMs);
  }
  if (tracked.queue.type !== FAILED_QUEUE) line.add('dequeued', sinceMs, undefined, attempt);
  return line;
}

/** Adds the waits between the enqueue and the first delivery: for a time, for the job, and for a worker. */
function addWaits(
  line: StepLine,
  { evaluation, job }: TrackedEvaluation,
  { enqueuedMs, dequeuedMs }: Pick<FailedDelivery, 'enqueuedMs' | 'dequeuedMs'>,
): void {
  const dueMs = Math.min(Math.max(dueMsOf(evaluation, enqueuedMs), enqueuedMs), dequeuedMs);
  if (dueMs > enqueuedMs) line.add('delayed', enqueuedMs, dueMs);
  const readyMs = Math.min(Math.max(job?.releasedAtMs ?? 0, dueMs), dequeuedMs);
  if (readyMs > dueMs) line.add('pending', dueMs, readyMs);
  line.add(evaluation.Status === 'blocked' ? 'unblocked' : 'enqueued', readyMs, dequeuedMs);
}
