import type { Clock, Timers } from '@waybill/model';
import type { ReplicatedState } from '@waybill/replica';
import { traceparentOf, withSpan, type Logger, type Tracer } from '@waybill/telemetry';
import type { BrokerPlanner } from './broker-planner.js';
import type { BrokerTerms } from './broker-terms.js';
import { Considerate } from '../collection/considerate.js';
import { runCoreTask } from '../collection/core-scheduler.js';
import { DEFAULT_THRESHOLDS, type Thresholds } from '../collection/thresholds.js';
import { type Delivery, indexNeededBy, spanOf } from './delivery.js';
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
  /** Ends a delivery. Never fails. */
  readonly ack: (delivery: Delivery) => Promise<void>;
  readonly nack: (delivery: Delivery) => Promise<void>;
  readonly waitForIndexMs: number;
}

/** As long as nearly all housekeeping takes. A worker waits for that, and then goes on without it. */
export const SHORT_HOUSEKEEPING_MS = 100;

/**
 * Core evaluations of one worker, beside its work: a large collection rests most of its time, which may be minutes
 * (Considerate), and what is to be placed does not wait for that (GC-10).
 *
 * Modes: idle ⇄ at work, on one evaluation. It is handed to it when it was dequeued, and acked or nacked in the end. A stop
 * ends the rests; what is asked of the broker after that fails, and the evaluation goes back.
 */
export class Housekeeping {
  private working: Promise<void> | undefined;

  constructor(private readonly deps: HousekeepingDeps) {}

  get isBusy(): boolean {
    return this.working !== undefined;
  }

  /** Resolves when it is idle. */
  async ended(): Promise<void> {
    await this.working;
  }

  /** Only while it is idle. Resolves when it is over, or takes longer than most. */
  begin(delivery: Delivery): Promise<void> {
    const { timers } = this.deps;
    return new Promise((resolve) => {
      const cancel = timers.after(SHORT_HOUSEKEEPING_MS, resolve);
      this.working = this.work(delivery).finally(() => {
        this.working = undefined;
        cancel();
        resolve();
      });
    });
  }

  private async work(delivery: Delivery): Promise<void> {
    const { state, logger, waitForIndexMs, ack, nack } = this.deps;
    try {
      await state.waitFor(indexNeededBy(delivery), waitForIndexMs);
      await this.keepHouse(delivery);
    } catch (error) {
      logger.warn('housekeeping goes back', { error, evalId: delivery.Eval.ID, jobId: delivery.Eval.JobID });
      return nack(delivery);
    }
    return ack(delivery);
  }

  /** EB-149: the evaluation has no row, so there is nothing to write of it. */
  private keepHouse(delivery: Delivery): Promise<void> {
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
          pace.after(async () => {
            await state.waitFor(await planner.reap(delivery.Eval, reap, scanIndex), this.deps.waitForIndexMs);
          }),
        rest: () => new Promise((resolve) => void timers.after(0, resolve)),
      });
      meter.invoked(delivery.Eval.Type, clock.nowMs() - before);
    });
  }
}
