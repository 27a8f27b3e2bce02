import type { CancelTimer, Clock, Evaluation, Timers } from '@waybill/model';
import { CORE_TYPE, nsFromRfc3339, msFromNs } from '@waybill/model';
import {
  BrokerDisabledError,
  EvalNotFoundError,
  NotOutstandingError,
  StaleTokenError,
  TokenMismatchError,
} from './broker-errors.js';
import { noMeter, type EvalTimer, type Meter } from './meter.js';
import { Heap, type HeapElement } from './heap.js';

/** Where evaluations go that no worker could finish; only the reaper takes them out (EB-85). */
export const FAILED_QUEUE = '_failed';

/** A worker that says nothing for this long has lost its delivery (EB-80). */
export const NACK_TIMEOUT_MS = 60_000;
/** Deliveries before an evaluation counts as undoable (EB-85). */
export const DELIVERY_LIMIT = 3;
/** Delay of the first redelivery; later ones wait n-1 times the subsequent delay (EB-81). */
export const INITIAL_NACK_DELAY_MS = 1_000;
export const SUBSEQUENT_NACK_DELAY_MS = 20_000;
/** The delay timer wakes at least this often: what a JavaScript timer holds (EB-42). */
export const MAX_TIMER_MS = 2_147_483_647;

/** Evaluations whose times are remembered for the timers; more have no samples (EB-321). */
export const MAX_TIMED = 10_000;

export interface EvalBrokerOptions {
  readonly nackTimeoutMs: number;
  readonly deliveryLimit: number;
  readonly initialNackDelayMs: number;
  readonly subsequentNackDelayMs: number;
}

export const DEFAULT_BROKER_OPTIONS: EvalBrokerOptions = {
  nackTimeoutMs: NACK_TIMEOUT_MS,
  deliveryLimit: DELIVERY_LIMIT,
  initialNackDelayMs: INITIAL_NACK_DELAY_MS,
  subsequentNackDelayMs: SUBSEQUENT_NACK_DELAY_MS,
};

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

/** One evaluation handed to one worker. */
export interface Delivery {
  readonly evaluation: Evaluation;
  readonly token: string;
  /** What the worker's copy of the state must have applied before it schedules (EB-67). */
  readonly waitIndex: number;
  /** Unix ms at which it became known here (again, after a nack): the begin of the wait (EB-322). */
  readonly enqueuedAtMs: number;
}

export interface BrokerStats {
  readonly totalReady: number;
  readonly totalUnacked: number;
  readonly totalPending: number;
  readonly totalWaiting: number;
  readonly totalCancelable: number;
  readonly byScheduler: Record<string, { ready: number; unacked: number }>;
}

type Place = 'ready' | 'unacked' | 'pending' | 'delayed' | 'redelivery' | 'cancelable';

/** What the broker knows of one evaluation, from enqueue to ack. In at most one heap, by `place`. */
interface Tracked extends HeapElement {
  readonly evaluation: Evaluation;
  /** Copies of what orders it: a comparison must not have to fetch the evaluation too. */
  readonly priority: number;
  readonly createIndex: number;
  readonly modifyIndex: number;
  job: JobSlot;
  place: Place;
  /** Scheduler type, or the failed queue. */
  queue: string;
  deliveries: number;
  enqueuedAtMs: number;
  /** Its times go to the meter (EB-321). */
  timed: boolean;
  /** Unix ms, while delayed or awaiting redelivery. */
  dueMs: number;
  delivery: Outstanding | undefined;
}

/** One job that has evaluations here: what serializes them. */
interface JobSlot {
  readonly namespace: string;
  readonly id: string;
  /** The one that is ready, unacked or awaiting redelivery (EB-52). */
  holder: Tracked | undefined;
  /** Those that wait behind it; made when the first has to. */
  pending: Heap<Tracked> | undefined;
}

interface Outstanding {
  readonly token: string;
  readonly sinceMs: number;
  stopTimer: CancelTimer;
  /** Enqueued again, in this state, by the worker's own reblock: comes in anew after the ack (EB-92). */
  requeue: Evaluation | undefined;
}

interface Waiter {
  readonly types: readonly string[];
  readonly deliver: (delivery: Delivery | null) => void;
  readonly fail: (error: Error) => void;
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
 * Limits: deliveryLimit, nackTimeoutMs; one timer for all delays, one per delivery. Memory: one record per evaluation,
 * none while disabled. Cost: O(log n) for every operation, O(1) for statistics.
 */
export class EvalBroker {
  private enabled = false;
  private readonly meter: Meter;
  private readonly options: EvalBrokerOptions;
  private tracked = new Map<string, Tracked>();
  /** Jobs by namespace and id, while one of their evaluations holds them. Nested: no key has to be put together. */
  private jobs = new Map<string, Map<string, JobSlot>>();
  private ready = new Map<string, Heap<Tracked>>();
  /** Delayed and awaiting redelivery, earliest first. */
  private due = new Heap<Tracked>(dueBefore);
  /** What each ack superseded, as it was, so that an ack does not cost what it supersedes; oldest first. */
  private cancelable: Tracked[][] = [];
  private unacked = new Map<string, number>();
  private totals = { ready: 0, unacked: 0, pending: 0, cancelable: 0 };
  private stopDueTimer: CancelTimer = () => {};
  private dueTimerAt = Infinity;
  private timedCount = 0;
  private restoring = false;
  /** Waiting dequeues by type, first come first served; one waiter is in the set of each of its types. */
  private readonly waiters = new Map<string, Set<Waiter>>();
  /** Types that got something ready while somebody waits for them; empty between operations. */
  private readonly woken = new Set<string>();
  /** Dequeues that came while disabled: they wait for a change of mode (EB-117). */
  private readonly parked = new Set<Waiter>();

  constructor(
    private readonly deps: EvalBrokerDeps,
    options: Partial<EvalBrokerOptions> = {},
  ) {
    this.options = { ...DEFAULT_BROKER_OPTIONS, ...options };
    this.meter = deps.meter ?? noMeter;
  }

  get isEnabled(): boolean {
    return this.enabled;
  }

  /** Both directions are no-ops when there already. Disabling flushes everything and ends waiting dequeues (EB-114). */
  setEnabled(enabled: boolean): void {
    if (enabled === this.enabled) return;
    this.enabled = enabled;
    this.flush();
    for (const waiter of this.parked) waiter.deliver(null);
    const waiting = new Set([...this.waiters.values()].flatMap((set) => [...set]));
    for (const waiter of waiting) waiter.fail(new BrokerDisabledError());
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
    let now: Delivery | undefined;
    try {
      now = this.enabled ? this.deliverNext(types) : undefined;
    } catch (error) {
      return Promise.reject(asError(error));
    } finally {
      this.serve();
    }
    if (now) return Promise.resolve(now);
    return new Promise((resolve, reject) => {
      let stopTimer: CancelTimer = () => {};
      const waiter: Waiter = {
        types,
        deliver: (delivery) => {
          end();
          resolve(delivery);
        },
        fail: (error) => {
          end();
          reject(error);
        },
      };
      const end = (): void => {
        stopTimer();
        this.parked.delete(waiter);
        for (const type of types) this.waiters.get(type)?.delete(waiter);
      };
      if (timeoutMs > 0) stopTimer = this.deps.timers.after(timeoutMs, () => waiter.deliver(null));
      if (!this.enabled) this.parked.add(waiter);
      else for (const type of types) this.waitersOf(type).add(waiter);
    });
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

  /** @throws NotOutstandingError, StaleTokenError unless the token is that of the delivery in progress */
  verifyToken(evalId: string, token: string): void {
    this.worked(evalId, token);
  }

  /** Gives the worker the whole nack timeout again (EB-87). */
  resetNackTimer(evalId: string, token: string): void {
    const { tracked, delivery } = this.worked(evalId, token);
    this.startNackTimer(tracked, delivery);
  }

  /** Waiting for the plan applier must not cost a worker its delivery (EB-88). */
  pauseNackTimer(evalId: string, token: string): void {
    this.worked(evalId, token).delivery.stopTimer();
  }

  /** Restarts the full timeout; a delivery that is gone is no error (EB-89, EB-90). */
  resumeNackTimer(evalId: string, token: string): void {
    const tracked = this.tracked.get(evalId);
    if (tracked?.delivery?.token === token) this.startNackTimer(tracked, tracked.delivery);
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
    const taken: Evaluation[] = [];
    for (let [group] = this.cancelable; group && taken.length < max; [group] = this.cancelable) {
      for (let next = group.pop(); next; next = taken.length < max ? group.pop() : undefined) {
        next.place = 'cancelable';
        next.heapAt = -1;
        taken.push(next.evaluation);
      }
      if (group.length === 0) this.cancelable.shift();
    }
    this.totals.cancelable -= taken.length;
    return taken;
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
    if (group.length === 0) return;
    this.cancelable.push(group);
    this.totals.cancelable += group.length;
  }

  get cancelableCount(): number {
    return this.totals.cancelable;
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
    const byScheduler: Record<string, { ready: number; unacked: number }> = {};
    for (const [type, heap] of this.ready)
      byScheduler[type] = { ready: heap.size, unacked: this.unacked.get(type) ?? 0 };
    return {
      totalReady: this.totals.ready,
      totalUnacked: this.totals.unacked,
      totalPending: this.totals.pending,
      totalWaiting: this.due.size,
      totalCancelable: this.totals.cancelable,
      byScheduler,
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
      job: this.jobOf(evaluation),
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
    if (tracked.dueMs > now) this.pushDue(tracked);
    else this.queueForJob(tracked);
  }

  private jobOf({ Namespace: namespace, JobID: id }: Evaluation): JobSlot {
    const known = this.jobs.get(namespace)?.get(id);
    return known ?? { namespace, id, holder: undefined, pending: undefined };
  }

  /** Ready if its job is free, else pending behind the one that holds the job (EB-52). */
  private queueForJob(tracked: Tracked): void {
    const job = this.hold(tracked);
    if (job.holder === tracked) {
      this.makeReady(tracked);
      return;
    }
    tracked.place = 'pending';
    job.pending ??= new Heap<Tracked>(pendingBefore);
    job.pending.push(tracked);
    this.totals.pending++;
  }

  /** The slot of its job, held by it if the job was free. A delayed one may bring a slot that another has replaced. */
  private hold(tracked: Tracked): JobSlot {
    let ofNamespace = this.jobs.get(tracked.job.namespace);
    if (!ofNamespace) this.jobs.set(tracked.job.namespace, (ofNamespace = new Map()));
    const held = ofNamespace.get(tracked.job.id);
    if (held) tracked.job = held;
    else ofNamespace.set(tracked.job.id, tracked.job);
    tracked.job.holder ??= tracked;
    return tracked.job;
  }

  private makeReady(tracked: Tracked): void {
    tracked.place = 'ready';
    let heap = this.ready.get(tracked.queue);
    if (!heap) this.ready.set(tracked.queue, (heap = new Heap<Tracked>(readyBefore)));
    heap.push(tracked);
    this.totals.ready++;
    if (!this.waiters.get(tracked.queue)?.size) return;
    this.woken.delete(tracked.queue); // a set that is being walked visits what is added again
    this.woken.add(tracked.queue);
  }

  /** EB-56: the job's newest pending evaluation is next, all its others are superseded. */
  private releaseJob(job: JobSlot): void {
    const { pending } = job;
    job.pending = undefined;
    job.holder = pending?.pop();
    if (!pending || !job.holder) {
      this.forgetJob(job);
      return;
    }
    this.totals.pending -= pending.size + 1;
    if (pending.size > 0) this.supersede(pending.takeAll());
    this.makeReady(job.holder);
  }

  /** Of one job, so either all or none of them are housekeeping, which has nothing to cancel in state (EB-99). */
  private supersede(group: Tracked[]): void {
    if (group[0]?.queue === CORE_TYPE) {
      for (const tracked of group) this.forget(tracked);
      return;
    }
    this.cancelable.push(group);
    this.totals.cancelable += group.length;
  }

  private forgetJob({ namespace, id }: JobSlot): void {
    const ofNamespace = this.jobs.get(namespace);
    ofNamespace?.delete(id);
    if (ofNamespace?.size === 0) this.jobs.delete(namespace);
  }

  // ---- delays

  private pushDue(tracked: Tracked): void {
    this.due.push(tracked);
    this.armDueTimer();
  }

  private armDueTimer(): void {
    const next = this.due.peek();
    if (!next || next.dueMs >= this.dueTimerAt) return;
    this.stopDueTimer();
    this.dueTimerAt = next.dueMs;
    const delay = Math.min(Math.max(0, next.dueMs - this.deps.clock.nowMs()), MAX_TIMER_MS);
    this.stopDueTimer = this.deps.timers.after(delay, () => this.onDue());
  }

  private onDue(): void {
    this.dueTimerAt = Infinity;
    const now = this.deps.clock.nowMs();
    for (let next = this.due.peek(); next && next.dueMs <= now; next = this.due.peek()) {
      this.due.pop();
      if (next.place === 'redelivery') this.makeReady(next);
      else this.queueForJob(next);
    }
    this.armDueTimer();
    this.serve();
  }

  private redeliverLater(tracked: Tracked): void {
    const { initialNackDelayMs, subsequentNackDelayMs } = this.options;
    const n = tracked.deliveries;
    const delayMs = n === 1 ? initialNackDelayMs : (n - 1) * subsequentNackDelayMs;
    tracked.enqueuedAtMs = this.deps.clock.nowMs();
    if (delayMs <= 0) {
      this.makeReady(tracked);
      return;
    }
    tracked.place = 'redelivery';
    tracked.dueMs = tracked.enqueuedAtMs + delayMs;
    this.pushDue(tracked);
  }

  // ---- delivering

  private waitersOf(type: string): Set<Waiter> {
    let set = this.waiters.get(type);
    if (!set) this.waiters.set(type, (set = new Set()));
    return set;
  }

  /** Hands what became ready to the dequeues that wait for it, in the order they came (EB-36). */
  private serve(): void {
    for (const type of this.woken) {
      const waiting = this.waiters.get(type);
      while (waiting && waiting.size > 0) {
        const [waiter] = waiting;
        if (!waiter) break;
        try {
          const delivery = this.deliverNext(waiter.types);
          if (!delivery) break;
          waiter.deliver(delivery);
        } catch (error) {
          waiter.fail(asError(error));
        }
      }
    }
    this.woken.clear();
  }

  private deliverNext(types: readonly string[]): Delivery | undefined {
    for (;;) {
      const heap = this.bestQueue(types);
      const tracked = heap?.pop();
      if (!tracked) return undefined;
      this.totals.ready--;
      const delivery = this.deliver(tracked);
      if (delivery) return delivery;
    }
  }

  /** EB-61, EB-62: the queue whose first has the highest priority; by chance among equals. */
  private bestQueue(types: readonly string[]): Heap<Tracked> | undefined {
    let best: Heap<Tracked>[] = [];
    let priority = -Infinity;
    for (const type of types) {
      const heap = this.ready.get(type);
      const first = heap?.peek();
      if (!heap || !first || first.priority < priority) continue;
      if (first.priority > priority) best = [];
      priority = first.priority;
      best.push(heap);
    }
    return best.length < 2 ? best[0] : best[Math.floor(this.deps.random() * best.length)];
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
    const delivery: Outstanding = { token: this.deps.newId(), sinceMs: now, stopTimer: () => {}, requeue: undefined };
    this.observe(tracked, 'broker.wait_time', now - tracked.enqueuedAtMs);
    tracked.delivery = delivery;
    this.startNackTimer(tracked, delivery);
    this.totals.unacked++;
    this.unacked.set(tracked.queue, (this.unacked.get(tracked.queue) ?? 0) + 1);
    try {
      const waitIndex = Math.max(row.ModifyIndex, this.deps.rows.highestEvalIndex(Namespace, JobID));
      return { evaluation: row, token: delivery.token, waitIndex, enqueuedAtMs: tracked.enqueuedAtMs };
    } catch (error) {
      this.endWithoutSuccess(tracked, delivery); // EB-69
      throw error;
    }
  }

  private startNackTimer(tracked: Tracked, delivery: Outstanding): void {
    delivery.stopTimer();
    delivery.stopTimer = this.deps.timers.after(this.options.nackTimeoutMs, () => {
      if (tracked.delivery === delivery) this.nack(tracked.evaluation.ID, delivery.token);
    });
  }

  private endDelivery(tracked: Tracked, delivery: Outstanding): void {
    delivery.stopTimer();
    const now = this.deps.clock.nowMs();
    this.observe(tracked, 'broker.process_time', now - delivery.sinceMs);
    this.observe(tracked, 'broker.response_time', now - tracked.enqueuedAtMs);
    tracked.delivery = undefined;
    this.totals.unacked--;
    this.unacked.set(tracked.queue, (this.unacked.get(tracked.queue) ?? 0) - 1);
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
    for (const tracked of this.tracked.values()) {
      tracked.delivery?.stopTimer();
      tracked.delivery = undefined;
    }
    this.stopDueTimer();
    this.stopDueTimer = () => {};
    this.dueTimerAt = Infinity;
    this.tracked = new Map();
    this.timedCount = 0;
    this.jobs = new Map();
    this.ready = new Map();
    this.woken.clear();
    this.due = new Heap<Tracked>(dueBefore);
    this.cancelable = [];
    this.unacked = new Map();
    this.totals = { ready: 0, unacked: 0, pending: 0, cancelable: 0 };
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** EB-34: `Wait` counts from now and wins over `WaitUntil`. */
function dueMsOf(evaluation: Evaluation, nowMs: number): number {
  if (evaluation.Wait > 0) return nowMs + Math.ceil(evaluation.Wait / 1e6);
  return evaluation.WaitUntil === null ? nowMs : msFromNs(nsFromRfc3339(evaluation.WaitUntil));
}

/** EB-48, EB-49. */
function readyBefore(a: Tracked, b: Tracked): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.createIndex !== b.createIndex) return a.createIndex < b.createIndex;
  return a.evaluation.ID < b.evaluation.ID;
}

/** EB-50. */
function pendingBefore(a: Tracked, b: Tracked): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  if (a.modifyIndex !== b.modifyIndex) return a.modifyIndex > b.modifyIndex;
  return a.evaluation.ID < b.evaluation.ID;
}

function dueBefore(a: Tracked, b: Tracked): boolean {
  return a.dueMs !== b.dueMs ? a.dueMs < b.dueMs : a.evaluation.ID < b.evaluation.ID;
}
