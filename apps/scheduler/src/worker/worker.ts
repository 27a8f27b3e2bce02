import { CORE_TYPE, type Clock, type Timers, isRefusal } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  ack,
  dequeue,
  isNobodyThere,
  KNOWN_SCHEDULERS,
  nack,
  SCHEDULER_VERSION,
  type DequeueResponse,
  type FinishRequest,
  type Rpc,
  type WorkerStatus,
  type WorkloadStatus,
} from '@waybill/rpc';
import { traceparentOf, withSpan, type Logger, type Tracer } from '@waybill/telemetry';
import { BrokerPlanner } from './broker-planner.js';
import { BrokerTerms, within } from './broker-terms.js';
import type { NodeLoads } from '@waybill/state';
import type { Thresholds } from '../collection/thresholds.js';
import { type Delivery, deliveryOf, indexNeededBy, OtherTermError, reachDelivery, spanOf } from './delivery.js';
import { EvaluationRun } from './evaluation-run.js';
import { Housekeeping } from './housekeeping.js';
import { backoffMs, StopSignal } from './stop-signal.js';
import { noWorkerMeter, timed, type WorkerMeter } from './worker-meter.js';
import { WorkerSteps } from './worker-steps.js';

/** Timeout of a dequeue at the broker (EB-64); a stop also waits this long for an idle worker. */
export const DEQUEUE_MS = 500;
/**
 * Longest time until this copy of the state must reach the delivery's index, and the longer one for a copy that is far
 * behind (EB-199).
 */
export const WAIT_FOR_INDEX_MS = 5_000;
export const CATCH_UP_MS = 50_000;
/** Pauses after failed dequeues (EB-203). */
export const DEQUEUE_BACKOFF_MS = { base: 20, limit: 10_000 };
/** Pause while the broker requires another version of the scheduler: an upgrade is in progress (EB-203). */
export const OTHER_VERSION_BACKOFF_MS = 30_000;
/** Pause of a worker whose copy of the state does not have the broker's term: it will be made anew (EB-197). */
export const OTHER_TERM_BACKOFF_MS = 5_000;
/**
 * Longest pause while no process holds the role `broker`: a successor comes within seconds and must not wait for
 * workers.
 */
export const NO_BROKER_BACKOFF_LIMIT_MS = 500;
/** Time for a stopping worker to return its evaluation (EB-208). */
export const STOP_GRACE_MS = 5_000;
/** Failed dequeues of the first seconds are not logged: the broker is starting too (EB-203). */
export const QUIET_START_MS = 10_000;

export interface WorkerDeps {
  readonly rpc: Rpc;
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly meter?: WorkerMeter;
  /** Types of evaluations that it dequeues; all types if absent (EB-228). */
  readonly enabledSchedulers?: readonly string[];
  /** Ages at which housekeeping collects records. */
  readonly thresholds?: Thresholds;
  /** Kept up to date with `state`; without it every pass computes the loads of the nodes that it checks. */
  readonly loads?: NodeLoads;
}

/**
 * Works on evaluations, one at a time (section 9 of the evaluations reference): dequeue, wait until this copy of the
 * state has the delivery's index, schedule, submit, then finish with one call that writes, acks and brings the next
 * delivery if one is ready; nack if anything failed. Long housekeeping runs beside that, one evaluation at a time;
 * while it runs, no other housekeeping is dequeued.
 *
 * Modes: started ⇄ paused (dequeues nothing, after it has finished its evaluation) → stopping (finishes or returns its
 * evaluation) → stopped. It writes nothing to the log itself.
 *
 * When its copy of the state shows a new holder of the role `broker`, every request in flight fails and every pause
 * ends at once: the outcome of requests to the old holder is unknown, as after a timeout, and the new one is asked for
 * work.
 */
export class Worker {
  /** The broker knows by this ID which evaluation the worker has, without housekeeping. */
  private id: string;
  private readonly signal: StopSignal;
  private readonly terms: BrokerTerms;
  private readonly startedAtMs: number;
  private readonly enabledSchedulers: readonly string[];
  private readonly housekeeping: Housekeeping;
  private readonly measured: { readonly meter: WorkerMeter; readonly clock: Clock };
  private ended: Promise<void> = Promise.resolve();
  private failures = 0;
  private mode: WorkerStatus = 'Starting';
  private doing: WorkloadStatus = 'WaitingToDequeue';
  private wake: (() => void) | undefined;

  constructor(private readonly deps: WorkerDeps) {
    this.id = deps.newId();
    this.signal = new StopSignal(deps.timers);
    this.terms = new BrokerTerms(deps.state);
    this.startedAtMs = deps.clock.nowMs();
    this.enabledSchedulers = deps.enabledSchedulers ?? KNOWN_SCHEDULERS;
    this.measured = { meter: deps.meter ?? noWorkerMeter, clock: deps.clock };
    this.housekeeping = new Housekeeping({
      ...deps,
      meter: this.measured.meter,
      signal: this.signal,
      terms: this.terms,
      planner: (delivery, traceparent) => this.plannerOf(delivery, traceparent),
      ack: (delivery) => this.answer(ack, delivery),
      nack: (delivery) => this.answer(nack, delivery),
      waitForIndexMs: WAIT_FOR_INDEX_MS,
    });
  }

  get status(): WorkerStatus {
    return this.mode;
  }

  get workloadStatus(): WorkloadStatus {
    return this.doing;
  }

  start(): void {
    this.mode = 'Started';
    this.ended = this.processUntilStopped().finally(() => {
      this.mode = 'Stopped';
      this.doing = 'Stopped';
    });
  }

  /** Pauses the worker after its current evaluation (EB-231); no-op unless it runs (EB-232). */
  pause(): void {
    if (this.mode === 'Started' || this.mode === 'Resuming') this.mode = 'Pausing';
  }

  /** Resumes the worker, or withdraws a pause that has not taken effect yet (EB-232). */
  resume(): void {
    if (this.mode === 'Pausing') this.mode = 'Started';
    else if (this.mode === 'Paused') this.mode = 'Resuming';
    this.wake?.();
  }

  /** Resolves when the worker has no evaluation any more, or when its grace is over. */
  async stop(): Promise<void> {
    if (this.mode !== 'Stopped') this.mode = 'Stopping';
    this.signal.stop();
    this.wake?.();
    await new Promise<void>((resolve) => {
      const cancel = this.deps.timers.after(STOP_GRACE_MS, resolve);
      void this.ended.finally(() => {
        cancel();
        resolve();
      });
    });
    this.terms.close();
  }

  private async processUntilStopped(): Promise<void> {
    while (!this.signal.stopped) {
      await this.restWhilePaused();
      // A worker for housekeeping only has nothing to dequeue meanwhile.
      if (this.typesToDequeue.length === 0) await this.housekeeping.untilIdle();
      if (this.signal.stopped) break;
      let delivery = await this.dequeue();
      while (delivery) delivery = await this.processDelivery(delivery);
    }
    await this.housekeeping.untilIdle();
  }

  /** The types that it may dequeue now. */
  private get typesToDequeue(): readonly string[] {
    if (!this.housekeeping.isBusy) return this.enabledSchedulers;
    return this.enabledSchedulers.filter((type) => type !== CORE_TYPE);
  }

  private async restWhilePaused(): Promise<void> {
    if (this.mode === 'Pausing') await Promise.race([this.housekeeping.untilIdle(), this.untilWoken()]);
    if (this.mode !== 'Pausing') return;
    this.mode = 'Paused';
    this.doing = 'Paused';
    await this.untilWoken();
    if (!this.signal.stopped) this.mode = 'Started';
  }

  /** Resolves at a resume or a stop. */
  private untilWoken(): Promise<void> {
    return new Promise<void>((resolve) => (this.wake = resolve));
  }

  private async dequeue(): Promise<Delivery | undefined> {
    this.doing = 'WaitingToDequeue';
    const term = this.terms.current;
    const answer = this.deps.rpc.ask(dequeue, {
      Schedulers: this.typesToDequeue,
      TimeoutMs: DEQUEUE_MS,
      SchedulerVersion: SCHEDULER_VERSION,
      Worker: this.id,
    });
    try {
      const answered = await timed(this.measured, 'worker.dequeue_eval', () =>
        within(term, answer, (late) => this.nackLateDelivery(late)),
      );
      this.failures = 0;
      return deliveryOf(answered);
    } catch (error) {
      if (term.aborted) {
        this.failures = 0;
        return undefined;
      }
      const limit = isNobodyThere(error) ? NO_BROKER_BACKOFF_LIMIT_MS : DEQUEUE_BACKOFF_MS.limit;
      if (this.deps.clock.nowMs() - this.startedAtMs > QUIET_START_MS)
        this.deps.logger.warn('no evaluation could be fetched', { error });
      // A dequeue of a worker is invalid only because of its version (EB-203).
      const isOtherVersion = isRefusal(error, 'invalid');
      const ms = isOtherVersion ? OTHER_VERSION_BACKOFF_MS : backoffMs(this.failures++, DEQUEUE_BACKOFF_MS.base, limit);
      this.doing = 'Backoff';
      await this.signal.pause(ms, term);
      if (term.aborted) this.failures = 0;
      return undefined;
    }
  }

  /** Nacks a late delivery: this copy of the state may lag, so the answer may be from the new holder. */
  private nackLateDelivery(late: DequeueResponse): void {
    const delivery = deliveryOf(late);
    if (delivery) void this.answer(nack, delivery);
  }

  /** @returns the next delivery, if the end of this one brought one */
  private async processDelivery(delivery: Delivery): Promise<Delivery | undefined> {
    if (delivery.Eval.Type !== CORE_TYPE || this.signal.stopped) return this.processEvaluation(delivery);
    await this.housekeeping.startTask(delivery);
    // A worker that dequeues has no other evaluation: running housekeeping stays with the former ID.
    if (this.housekeeping.isBusy) this.id = this.deps.newId();
    return undefined;
  }

  /** @returns as `processDelivery` */
  private async processEvaluation(delivery: Delivery): Promise<Delivery | undefined> {
    const { state, logger, clock } = this.deps;
    const waitIndex = indexNeededBy(delivery);
    const steps = new WorkerSteps(clock, this.id);
    const term = this.terms.current;
    let isOtherTerm = false;
    try {
      if (!this.signal.stopped) {
        this.doing = 'WaitingForRaft';
        const behind = state.appliedIndex < waitIndex;
        await timed(this.measured, 'worker.wait_for_index', () => reachDelivery(state, delivery, WAIT_FOR_INDEX_MS));
        if (behind) steps.addWait(waitIndex);
        return await this.scheduleDelivery(delivery, steps);
      }
    } catch (error) {
      isOtherTerm = error instanceof OtherTermError;
      logger.warn('evaluation goes back', { error, evalId: delivery.Eval.ID, jobId: delivery.Eval.JobID });
    }
    await this.answer(nack, delivery);
    // A copy that is this far behind must not dequeue evaluations only to return them (EB-199).
    if (!this.signal.stopped) await state.waitFor(waitIndex, CATCH_UP_MS).catch(() => {});
    if (isOtherTerm) await this.signal.pause(OTHER_TERM_BACKOFF_MS, term);
    return undefined;
  }

  /** Schedules and ends the delivery. @returns as `processDelivery` */
  private async scheduleDelivery(delivery: Delivery, steps: WorkerSteps): Promise<Delivery | undefined> {
    const { state, loads, clock, newId, tracer } = this.deps;
    return withSpan(tracer(), 'schedule', spanOf(delivery), async (span) => {
      const planner = this.plannerOf(delivery, () => traceparentOf(span), steps);
      const run = new EvaluationRun(delivery.Eval, {
        planner,
        snapshots: {
          tables: state.tables,
          get appliedIndex() {
            return state.appliedIndex;
          },
          loads,
          reach: (index) => steps.addRefresh(index, state.waitFor(index, WAIT_FOR_INDEX_MS)),
        },
        clock,
        dueNs: delivery.DueNs ?? 0,
        newId,
        timed: (pass) => {
          const before = clock.nowMs();
          this.doing = 'Scheduling';
          const attempt = pass();
          this.doing = 'Submitting';
          const after = clock.nowMs();
          this.measured.meter.invoked(delivery.Eval.Type, after - before);
          steps.addPass(before, after, attempt.plan);
          return attempt;
        },
      });
      const ended = await run.runAttempts();
      if (ended) return deliveryOf(await planner.finish(ended, this.nextWanted, (late) => this.nackLateDelivery(late)));
      await this.answer(ack, delivery);
      return undefined;
    });
  }

  private plannerOf({ Token }: Delivery, traceparent: () => string | undefined, steps?: WorkerSteps): BrokerPlanner {
    const { signal, measured } = this;
    return new BrokerPlanner({
      rpc: this.deps.rpc,
      token: Token,
      traceparent,
      signal,
      term: this.terms.current,
      measured,
      steps,
    });
  }

  /** The next delivery that it wants after it has finished this one. */
  private get nextWanted(): Pick<FinishRequest, 'NextOf' | 'Worker'> {
    return { NextOf: this.mode === 'Started' ? this.typesToDequeue : [], Worker: this.id };
  }

  /** Acks or nacks. If the answer is lost, the nack timer ends the delivery (EB-201). */
  private async answer(call: typeof ack, { Eval, Token }: Delivery): Promise<void> {
    try {
      const asking = this.deps.rpc.ask(call, { EvalID: Eval.ID, Token });
      await timed(this.measured, 'worker.send_ack', () => within(this.terms.current, asking));
    } catch (error) {
      this.deps.logger.warn('the end of a delivery could not be reported', { error, evalId: Eval.ID });
    }
  }
}
