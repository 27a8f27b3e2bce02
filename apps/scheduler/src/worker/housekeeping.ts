import type { Clock, Timers } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { traceparentOf, withSpan, type Logger, type Tracer } from '@waybill/telemetry';
import type { BrokerPlanner } from './broker-planner.js';
import type { BrokerTerms } from './broker-terms.js';
import { Considerate } from '../collection/considerate.js';
import { runCoreTask } from '../collection/core-scheduler.js';
import { DEFAULT_THRESHOLDS, type Thresholds } from '../collection/thresholds.js';
import { type Delivery, reachDelivery, spanOf } from './delivery.js';
import type { StopSignal } from './stop-signal.js';
import type { WorkerMeter } from './worker-meter.js';

export interface HousekeepingDeps {
  readonly state: ReplicatedState;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly tracer: () => Tracer;
  readonly thresholds?: Thresholds;
  readonly meter: WorkerMeter;
  readonly signal: StopSignal;
  readonly terms: BrokerTerms;
  readonly planner: (delivery: Delivery, traceparent: () => string | undefined) => BrokerPlanner;
  /** Acks or nacks the delivery. Never rejects. */
  readonly ack: (delivery: Delivery) => Promise<void>;
  readonly nack: (delivery: Delivery) => Promise<void>;
  readonly waitForIndexMs: number;
}

/** Nearly all housekeeping is over within this time. A worker waits for it, and then continues with other work. */
export const SHORT_HOUSEKEEPING_MS = 100;

/**
 * Runs core evaluations of one worker beside its other work: a large collection rests most of its time, which may be
 * minutes (Considerate), and placements do not wait for it (GC-10).
 *
 * Modes: idle ⇄ working on one evaluation. The evaluation was dequeued before, and is acked or nacked at the end. A
 * stop ends the rests; later requests to the broker fail, and the evaluation is nacked.
 */
export class Housekeeping {
  private working: Promise<void> | undefined;

  constructor(private readonly deps: HousekeepingDeps) {}

  get isBusy(): boolean {
    return this.working !== undefined;
  }

  /** Resolves when it is idle. */
  async untilIdle(): Promise<void> {
    await this.working;
  }

  /** Starts only while idle. Resolves when the work is over, or takes longer than SHORT_HOUSEKEEPING_MS. */
  startTask(delivery: Delivery): Promise<void> {
    const { timers } = this.deps;
    return new Promise((resolve) => {
      const cancel = timers.after(SHORT_HOUSEKEEPING_MS, resolve);
      this.working = this.carryOutTask(delivery).finally(() => {
        this.working = undefined;
        cancel();
        resolve();
      });
    });
  }

  private async carryOutTask(delivery: Delivery): Promise<void> {
    const { state, logger, waitForIndexMs, ack, nack } = this.deps;
    try {
      await reachDelivery(state, delivery, waitForIndexMs);
      await this.runCoreEvaluation(delivery);
    } catch (error) {
      logger.warn('housekeeping goes back', { error, evalId: delivery.Eval.ID, jobId: delivery.Eval.JobID });
      return nack(delivery);
    }
    return ack(delivery);
  }

  /** The evaluation has no row, so nothing of it is written (EB-149). */
  private runCoreEvaluation(delivery: Delivery): Promise<void> {
    const { state, clock, timers, thresholds = DEFAULT_THRESHOLDS, signal, terms, meter, tracer } = this.deps;
    const term = terms.current;
    return withSpan(tracer(), 'schedule', spanOf(delivery), async (span) => {
      const planner = this.deps.planner(delivery, () => traceparentOf(span));
      const before = clock.nowMs();
      const pace = new Considerate(clock, (ms) => signal.pause(ms, term));
      await runCoreTask(delivery.Eval, {
        tables: state.tables,
        appliedIndex: state.appliedIndex,
        clock,
        thresholds,
        reap: (reap, scanIndex) =>
          pace.runAfterRest(async () => {
            await state.waitFor(await planner.reap(delivery.Eval, reap, scanIndex), this.deps.waitForIndexMs);
          }),
        rest: () => new Promise((resolve) => void timers.after(0, resolve)),
      });
      meter.invoked(delivery.Eval.Type, clock.nowMs() - before);
    });
  }
}
