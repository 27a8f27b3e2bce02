import { type Clock, type Evaluation, Refusal, type Timers } from '@waybill/model';
import type { StepLine } from '@waybill/state';
import { NackTimers } from './nack-timers.js';
import {
  stepsOf,
  type TrackedEvaluation,
  type TrackedEvaluations,
  type UnackedDelivery,
} from './tracked-evaluations.js';

/** A delivery is nacked when its worker sends nothing for this long (EB-80). */
export const NACK_TIMEOUT_MS = 60_000;
/** Deliveries after which an evaluation goes to the failed queue (EB-85). */
export const DELIVERY_LIMIT = 3;
/** Delay of the first redelivery; the nth redelivery waits n-1 times the subsequent delay (EB-81). */
export const INITIAL_NACK_DELAY_MS = 1_000;
export const SUBSEQUENT_NACK_DELAY_MS = 20_000;

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

/** Delay before the redelivery that follows the `n`th delivery, ms (EB-81). */
export function redeliveryDelayMs(n: number, options: EvalBrokerOptions): number {
  return n === 1 ? options.initialNackDelayMs : (n - 1) * options.subsequentNackDelayMs;
}

/** The delivery that an ack or nack names has ended: by an ack, a nack or a flush. Or it never existed (EB-72). */
export class EvalNotFoundError extends Refusal {
  override readonly name = 'EvalNotFoundError';
  constructor(readonly evalId: string) {
    super('not-found', 'Evaluation ID not found');
  }
}

/** An ack or nack names an evaluation that another worker has by now (EB-73). */
export class TokenMismatchError extends Refusal {
  override readonly name = 'TokenMismatchError';
  constructor(readonly evalId: string) {
    super('conflict', 'Token does not match for Evaluation ID');
  }
}

/** A request in the name of a delivery came when no worker had the evaluation (EB-87). */
export class NotOutstandingError extends Refusal {
  override readonly name = 'NotOutstandingError';
  constructor(readonly evalId: string) {
    super('conflict', 'evaluation is not outstanding');
  }
}

/** A request in the name of a delivery came when another delivery of the evaluation had begun (EB-87). */
export class StaleTokenError extends Refusal {
  override readonly name = 'StaleTokenError';
  constructor(readonly evalId: string) {
    super('conflict', 'evaluation token does not match');
  }
}

export interface UnackedDeliveriesDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly tracked: TrackedEvaluations;
  readonly nackTimeoutMs: number;
  /** The delivery fails, by its worker's nack or by the nack timeout (EB-80). It has not been ended yet. */
  readonly onNack: (delivery: UnackedDelivery) => void;
}

/**
 * The deliveries that workers have neither acked nor nacked, each with its nack timer and its token. The token proves
 * that a request is about this delivery and not about an earlier one of the same evaluation.
 *
 * Modes of a delivery: timed (its nack timer runs) ⇄ at the plan applier (the timer is paused; a nack waits for the
 * plan's answer) → ended.
 * Limits: one delivery for each evaluation, kept in the evaluation's record; nackTimeoutMs for each. Cost: O(1).
 */
export class UnackedDeliveries {
  private readonly nackTimers: NackTimers;

  constructor(private readonly deps: UnackedDeliveriesDeps) {
    this.nackTimers = new NackTimers({ ...deps, timeoutMs: deps.nackTimeoutMs, onExpired: deps.onNack });
  }

  begin(tracked: TrackedEvaluation, sinceMs: number): UnackedDelivery {
    const delivery: UnackedDelivery = {
      tracked,
      token: this.deps.newId(),
      sinceMs,
      requeue: undefined,
      steps: undefined,
      plansInApplier: 0,
      isNacked: false,
      deadlineMs: Infinity,
      sooner: undefined,
      later: undefined,
    };
    tracked.beginDelivery(delivery);
    this.nackTimers.start(delivery, sinceMs);
    return delivery;
  }

  end(delivery: UnackedDelivery): void {
    this.nackTimers.stop(delivery);
    delivery.tracked.endDelivery();
  }

  /**
   * Fails the delivery: at once, or when its plan is answered. The evaluation's next worker must have seen the outcome of
   * that plan, or it makes the same placements again (EB-329).
   */
  nack(delivery: UnackedDelivery): void {
    if (delivery.plansInApplier > 0) delivery.isNacked = true;
    else this.deps.onNack(delivery);
  }

  /** The delivery that an ack or nack ends. @throws EvalNotFoundError, TokenMismatchError */
  requireUnacked(evalId: string, token: string): UnackedDelivery {
    const delivery = this.deliveryOf(evalId);
    if (!delivery) throw new EvalNotFoundError(evalId);
    if (delivery.token !== token) throw new TokenMismatchError(evalId);
    return delivery;
  }

  /** Has an evaluation that its own worker reblocked tracked anew after the ack, if this delivery still lasts (EB-92). */
  requeueAfterAck(evaluation: Evaluation, token: string): void {
    const delivery = this.find(evaluation.ID, token);
    if (delivery) delivery.requeue = evaluation;
  }

  /** Token of the delivery in progress, undefined if there is none (EB-110). */
  tokenOf(evalId: string): string | undefined {
    return this.deliveryOf(evalId)?.token;
  }

  /** The evaluation that the worker has. @throws NotOutstandingError, StaleTokenError unless the token is that of the delivery */
  evaluationOf(evalId: string, token: string): Evaluation {
    return this.requireOutstanding(evalId, token).tracked.evaluation;
  }

  /** Steps of the delivery for the next transaction to carry (CL-1065). @throws as `evaluationOf` */
  stepsOf(evalId: string, token: string): StepLine {
    return stepsOf(this.requireOutstanding(evalId, token));
  }

  /** Starts the whole nack timeout anew (EB-87). @throws as `evaluationOf` */
  resetNackTimer(evalId: string, token: string): void {
    this.nackTimers.start(this.requireOutstanding(evalId, token), this.deps.clock.nowMs());
  }

  /** Pauses the nack timer while a plan is at the applier, so that waiting there costs no worker its delivery (EB-88). @throws as `evaluationOf` */
  beginPlan(evalId: string, token: string): void {
    const delivery = this.requireOutstanding(evalId, token);
    delivery.plansInApplier++;
    this.nackTimers.stop(delivery);
  }

  /** Restarts the whole nack timeout after a plan's answer. A delivery that has ended is no error (EB-89, EB-90). */
  endPlan(evalId: string, token: string): void {
    const delivery = this.find(evalId, token);
    if (!delivery || --delivery.plansInApplier > 0) return;
    if (delivery.isNacked) this.deps.onNack(delivery);
    else this.nackTimers.start(delivery, this.deps.clock.nowMs());
  }

  /** Forgets all nack timers. The records of the evaluations, which hold the deliveries, must be forgotten as well. */
  clear(): void {
    this.nackTimers.clear();
  }

  private deliveryOf(evalId: string): UnackedDelivery | undefined {
    return this.deps.tracked.get(evalId)?.delivery;
  }

  private find(evalId: string, token: string): UnackedDelivery | undefined {
    const delivery = this.deliveryOf(evalId);
    return delivery?.token === token ? delivery : undefined;
  }

  private requireOutstanding(evalId: string, token: string): UnackedDelivery {
    const delivery = this.deliveryOf(evalId);
    if (!delivery) throw new NotOutstandingError(evalId);
    if (delivery.token !== token) throw new StaleTokenError(evalId);
    return delivery;
  }
}
