import type { Clock, Evaluation, Timers } from '@waybill/model';
import type { StepLine } from '@waybill/state';
import { EvalNotFoundError, NotOutstandingError, StaleTokenError, TokenMismatchError } from './broker-errors.js';
import { stepsOf } from './delivery-steps.js';
import { NackTimers } from './nack-timers.js';
import type { Outstanding, Tracked } from './tracked-evaluation.js';
import type { TrackedEvaluations } from './tracked-evaluations.js';

export interface DeliveriesDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly newId: () => string;
  readonly tracked: TrackedEvaluations;
}

/**
 * What workers have in their hands: each delivery with its token, which proves that a worker speaks of this delivery and
 * not of an earlier one, and with its nack timer. An evaluation has one delivery at most, which hangs on its record: who
 * answers is looked up once. Cost: O(1).
 */
export class Deliveries {
  private readonly nackTimers: NackTimers;

  /** @param onGivenBack it ends without success, by its worker or because that has said nothing for the whole time (EB-80); it is still here */
  constructor(
    private readonly deps: DeliveriesDeps,
    timeoutMs: number,
    private readonly onGivenBack: (delivery: Outstanding) => void,
  ) {
    this.nackTimers = new NackTimers({ ...deps, timeoutMs, onExpired: onGivenBack });
  }

  begin(tracked: Tracked, sinceMs: number): Outstanding {
    const delivery: Outstanding = {
      tracked,
      token: this.deps.newId(),
      sinceMs,
      requeue: undefined,
      steps: undefined,
      plans: 0,
      isGivenBack: false,
      deadlineMs: 0,
      sooner: undefined,
      later: undefined,
    };
    tracked.delivery = delivery;
    this.nackTimers.start(delivery, sinceMs);
    return delivery;
  }

  end(delivery: Outstanding): void {
    this.nackTimers.stop(delivery);
    delivery.tracked.delivery = undefined;
  }

  /**
   * Ends it without success: at once, or when its plan is answered. Whoever gets the evaluation next must have seen what
   * became of that plan, or makes the same placements again (EB-329).
   */
  giveBack(delivery: Outstanding): void {
    if (delivery.plans > 0) delivery.isGivenBack = true;
    else this.onGivenBack(delivery);
  }

  /** The delivery that is acked or nacked. @throws EvalNotFoundError, TokenMismatchError */
  answered(evalId: string, token: string): Outstanding {
    const delivery = this.of(evalId);
    if (!delivery) throw new EvalNotFoundError(evalId);
    if (delivery.token !== token) throw new TokenMismatchError(evalId);
    return delivery;
  }

  /** The delivery with this token, if it is still in progress. */
  find(evalId: string, token: string): Outstanding | undefined {
    const delivery = this.of(evalId);
    return delivery?.token === token ? delivery : undefined;
  }

  /** Token of the delivery in progress, undefined if there is none (EB-110). */
  tokenOf(evalId: string): string | undefined {
    return this.of(evalId)?.token;
  }

  /** What is being worked on. @throws NotOutstandingError, StaleTokenError unless the token is that of the delivery */
  verify(evalId: string, token: string): Evaluation {
    return this.worked(evalId, token).tracked.evaluation;
  }

  /** What is to be told of the delivery (CL-1065). @throws as `verify` */
  steps(evalId: string, token: string): StepLine {
    return stepsOf(this.worked(evalId, token));
  }

  /** Gives the worker the whole nack timeout again (EB-87). @throws as `verify` */
  resetTimer(evalId: string, token: string): void {
    this.nackTimers.start(this.worked(evalId, token), this.deps.clock.nowMs());
  }

  /** A plan of it goes to the applier: waiting for that must not cost a worker its delivery (EB-88). @throws as `verify` */
  planBegins(evalId: string, token: string): void {
    const delivery = this.worked(evalId, token);
    delivery.plans++;
    this.nackTimers.stop(delivery);
  }

  /** Restarts the full timeout; a delivery that is gone is no error (EB-89, EB-90). */
  planEnds(evalId: string, token: string): void {
    const delivery = this.find(evalId, token);
    if (!delivery || --delivery.plans > 0) return;
    if (delivery.isGivenBack) this.onGivenBack(delivery);
    else this.nackTimers.start(delivery, this.deps.clock.nowMs());
  }

  /** Of evaluations that are not tracked any more. */
  clear(): void {
    this.nackTimers.clear();
  }

  private of(evalId: string): Outstanding | undefined {
    return this.deps.tracked.get(evalId)?.delivery;
  }

  private worked(evalId: string, token: string): Outstanding {
    const delivery = this.of(evalId);
    if (!delivery) throw new NotOutstandingError(evalId);
    if (delivery.token !== token) throw new StaleTokenError(evalId);
    return delivery;
  }
}
