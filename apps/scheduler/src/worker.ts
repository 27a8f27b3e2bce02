import { CORE_TYPE, type Clock, type Evaluation, type Timers } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import {
  ack,
  dequeue,
  isNobodyThere,
  KNOWN_SCHEDULERS,
  nack,
  SCHEDULER_VERSION,
  type DequeueResponse,
  type Rpc,
  type WorkerStatus,
  type WorkloadStatus,
} from '@waybill/rpc';
import { traceparentOf, withSpan, type Logger, type Tracer } from '@waybill/telemetry';
import { BrokerPlanner } from './broker-planner.js';
import { BrokerTerms, within } from './broker-terms.js';
import { Considerate } from './collection/considerate.js';
import { runCoreTask } from './collection/core-scheduler.js';
import type { NodeLoads } from '@waybill/state';
import { DEFAULT_THRESHOLDS, type Thresholds } from './collection/thresholds.js';
import { EvaluationRun } from './evaluation-run.js';
import { backoffMs, StopSignal } from './stop-signal.js';
import { noWorkerMeter, timed, type WorkerMeter } from './worker-meter.js';

/** What a dequeue asks the broker to wait (EB-64); also how long a stop waits for an idle worker. */
export const DEQUEUE_MS = 500;
/** For this copy of the state to reach what the delivery needs, and the longer wait of one that is far behind (EB-199). */
export const WAIT_FOR_INDEX_MS = 5_000;
export const CATCH_UP_MS = 50_000;
/** After failed dequeues (EB-203). */
export const DEQUEUE_BACKOFF_MS = { base: 20, limit: 10_000 };
/** While the broker wants another version of the scheduler than this one: an upgrade is under way (EB-203). */
export const OTHER_VERSION_BACKOFF_MS = 30_000;
/** While nobody holds the broker's role: a successor comes within seconds and must not wait for us. */
export const NO_BROKER_BACKOFF_LIMIT_MS = 500;
/** A stopping worker gets this long to hand back what it holds (EB-208). */
export const STOP_GRACE_MS = 5_000;
/** Failed dequeues of the first seconds are expected: the broker is starting too (EB-203). */
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
  /** Types of evaluations it takes; all, if it is not said (EB-228). */
  readonly enabledSchedulers?: readonly string[];
  /** How old records must be that housekeeping removes. */
  readonly thresholds?: Thresholds;
  /** Kept up to date with `state`; without it every pass sums up the nodes it looks at. */
  readonly loads?: NodeLoads;
}

/**
 * Works evaluations off, one at a time (section 9 of the evaluations reference): dequeue, wait until this copy of the
 * state has what the delivery is about, schedule, submit, then finish: one call that writes, acks and brings the next
 * delivery if one is ready; nack if anything failed.
 *
 * Modes: started ⇄ paused (dequeues nothing; what it has it finishes first) → stopping (finishes or hands back what it
 * has) → stopped. It writes nothing to the log itself.
 *
 * When its copy of the state says that the broker's role has a new holder, every ask in flight fails and every back-off
 * ends at once: what the old holder did with the ask is unknown, as after a timeout, and the new one is asked for work.
 */
export class Worker {
  private readonly signal: StopSignal;
  private readonly terms: BrokerTerms;
  private readonly startedAtMs: number;
  private readonly enabledSchedulers: readonly string[];
  private readonly measured: { readonly meter: WorkerMeter; readonly clock: Clock };
  private ended: Promise<void> = Promise.resolve();
  private failures = 0;
  private mode: WorkerStatus = 'Starting';
  private doing: WorkloadStatus = 'WaitingToDequeue';
  private wake: (() => void) | undefined;

  constructor(private readonly deps: WorkerDeps) {
    this.signal = new StopSignal(deps.timers);
    this.terms = new BrokerTerms(deps.state);
    this.startedAtMs = deps.clock.nowMs();
    this.enabledSchedulers = deps.enabledSchedulers ?? KNOWN_SCHEDULERS;
    this.measured = { meter: deps.meter ?? noWorkerMeter, clock: deps.clock };
  }

  get status(): WorkerStatus {
    return this.mode;
  }

  get workloadStatus(): WorkloadStatus {
    return this.doing;
  }

  start(): void {
    this.mode = 'Started';
    this.ended = this.loop().finally(() => {
      this.mode = 'Stopped';
      this.doing = 'Stopped';
    });
  }

  /** It takes effect when what is in hand is finished (EB-231); a no-op unless the worker runs (EB-232). */
  pause(): void {
    if (this.mode === 'Started' || this.mode === 'Resuming') this.mode = 'Pausing';
  }

  /** Also takes back a pause that has not taken effect yet (EB-232). */
  resume(): void {
    if (this.mode === 'Pausing') this.mode = 'Started';
    if (this.mode !== 'Paused') return;
    this.mode = 'Resuming';
    this.wake?.();
  }

  /** Resolves when the worker holds nothing any more, or when its grace is over. */
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

  private async loop(): Promise<void> {
    while (!this.signal.stopped) {
      await this.restWhilePaused();
      if (this.signal.stopped) return;
      let delivery = await this.dequeue();
      while (delivery?.Eval) delivery = await this.workOff(delivery, delivery.Eval);
    }
  }

  private async restWhilePaused(): Promise<void> {
    if (this.mode !== 'Pausing') return;
    this.mode = 'Paused';
    this.doing = 'Paused';
    await new Promise<void>((resolve) => (this.wake = resolve));
    this.wake = undefined;
    if (!this.signal.stopped) this.mode = 'Started';
  }

  private async dequeue(): Promise<DequeueResponse | undefined> {
    this.doing = 'WaitingToDequeue';
    const term = this.terms.current;
    const answer = this.deps.rpc.ask(dequeue, {
      Schedulers: this.enabledSchedulers,
      TimeoutMs: DEQUEUE_MS,
      SchedulerVersion: SCHEDULER_VERSION,
    });
    try {
      const delivery = await timed(this.measured, 'worker.dequeue_eval', () =>
        within(term, answer, (late) => this.handBack(late)),
      );
      this.failures = 0;
      return delivery;
    } catch (error) {
      if (term.aborted) {
        this.failures = 0;
        return undefined;
      }
      const limit = isNobodyThere(error) ? NO_BROKER_BACKOFF_LIMIT_MS : DEQUEUE_BACKOFF_MS.limit;
      if (this.deps.clock.nowMs() - this.startedAtMs > QUIET_START_MS)
        this.deps.logger.warn('no evaluation could be fetched', { error });
      const isOtherVersion = error instanceof Error && error.message.includes('calling scheduler version');
      const ms = isOtherVersion ? OTHER_VERSION_BACKOFF_MS : backoffMs(this.failures++, DEQUEUE_BACKOFF_MS.base, limit);
      this.doing = 'Backoff';
      await this.signal.pause(ms, term);
      if (term.aborted) this.failures = 0;
      return undefined;
    }
  }

  /** This copy of the state may lag: it can be the new holder that was asked and that hands something out. */
  private handBack({ Eval, Token }: DequeueResponse): void {
    if (Eval) void this.answer(nack, Eval.ID, Token);
  }

  /** @returns the next delivery, if one was handed out with the end of this one */
  private async workOff(delivery: DequeueResponse, evaluation: Evaluation): Promise<DequeueResponse | undefined> {
    const waitIndex = Math.max(delivery.WaitIndex, evaluation.ModifyIndex, evaluation.SnapshotIndex);
    try {
      if (!this.signal.stopped) {
        this.doing = 'WaitingForRaft';
        await timed(this.measured, 'worker.wait_for_index', () =>
          this.deps.state.waitFor(waitIndex, WAIT_FOR_INDEX_MS),
        );
        this.doing = 'Scheduling';
        return await this.schedule(delivery, evaluation);
      }
    } catch (error) {
      this.deps.logger.warn('evaluation goes back', { error, evalId: evaluation.ID, jobId: evaluation.JobID });
    }
    await this.answer(nack, evaluation.ID, delivery.Token);
    // EB-199: a copy this far behind must not take evaluations only to hand them back.
    if (!this.signal.stopped && this.deps.state.appliedIndex < waitIndex)
      await this.deps.state.waitFor(waitIndex, CATCH_UP_MS).catch(() => {});
    return undefined;
  }

  /** Also ends the delivery. @returns as `workOff` */
  private async schedule(delivery: DequeueResponse, evaluation: Evaluation): Promise<DequeueResponse | undefined> {
    const { state, loads, clock, newId, rpc, tracer } = this.deps;
    const attributes = {
      'eval.id': evaluation.ID,
      'eval.type': evaluation.Type,
      'eval.triggered_by': evaluation.TriggeredBy,
      'job.id': evaluation.JobID,
    };
    const options = { traceparent: delivery.Traceparent ?? undefined, attributes };
    return withSpan(tracer(), 'schedule', options, async (span) => {
      const traceparent = (): string | undefined => traceparentOf(span);
      const planner = new BrokerPlanner(
        rpc,
        delivery.Token,
        traceparent,
        this.signal,
        this.terms.current,
        this.measured,
      );
      if (evaluation.Type === CORE_TYPE) {
        await this.keepHouse(evaluation, planner);
        return this.acked(delivery, evaluation);
      }
      const run = new EvaluationRun(evaluation, {
        planner,
        snapshots: {
          tables: state.tables,
          get appliedIndex() {
            return state.appliedIndex;
          },
          ...(loads && { loads }),
          reach: (index) => state.waitFor(index, WAIT_FOR_INDEX_MS),
        },
        clock,
        newId,
        timed: (pass) => {
          const before = clock.nowMs();
          this.doing = 'Scheduling';
          const attempt = pass();
          this.doing = 'Submitting';
          this.measured.meter.invoked(evaluation.Type, clock.nowMs() - before);
          return attempt;
        },
      });
      const ended = await run.run();
      if (!ended) return this.acked(delivery, evaluation);
      return planner.finish(ended, this.wanted, (late) => this.handBack(late));
    });
  }

  private async acked({ Token }: DequeueResponse, { ID }: Evaluation): Promise<undefined> {
    await this.answer(ack, ID, Token);
  }

  /** What it takes more of when it has finished something. */
  private get wanted(): readonly string[] {
    return this.mode === 'Started' && !this.signal.stopped ? this.enabledSchedulers : [];
  }

  /** EB-149: the evaluation has no row, so there is nothing to write of it. */
  private async keepHouse(evaluation: Evaluation, planner: BrokerPlanner): Promise<void> {
    const { state, clock, timers, thresholds = DEFAULT_THRESHOLDS } = this.deps;
    const before = clock.nowMs();
    const pace = new Considerate(clock, (ms) => this.signal.pause(ms, this.terms.current));
    await runCoreTask(evaluation, {
      tables: state.tables,
      appliedIndex: state.appliedIndex,
      clock,
      thresholds,
      reap: (reap, scanIndex) =>
        pace.after(async () => state.waitFor(await planner.reap(evaluation, reap, scanIndex), WAIT_FOR_INDEX_MS)),
      rest: () => new Promise((resolve) => void timers.after(0, resolve)),
    });
    this.measured.meter.invoked(evaluation.Type, clock.nowMs() - before);
  }

  /** EB-201: the nack timer makes up for an answer that is lost. */
  private async answer(call: typeof ack, evalId: string, token: string): Promise<void> {
    try {
      const asking = this.deps.rpc.ask(call, { EvalID: evalId, Token: token });
      await timed(this.measured, 'worker.send_ack', () => within(this.terms.current, asking));
    } catch (error) {
      this.deps.logger.warn('the end of a delivery could not be reported', { error, evalId });
    }
  }
}
