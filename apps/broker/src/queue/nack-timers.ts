import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { UnackedDelivery } from './tracked-evaluations.js';

export interface NackTimersDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  /** The same for every delivery, ms. */
  readonly timeoutMs: number;
  /** Called for a delivery whose time is over, after it has left the chain. */
  readonly onExpired: (delivery: UnackedDelivery) => void;
}

/**
 * The nack timers of all unacked deliveries (EB-80, EB-87 to EB-90): a chain in the order in which they were started, and
 * one timer for its first element. All have the same timeout, so the timer that was started last expires last. Ending a
 * delivery touches no timer: the timer then fires without effect and is armed for the next delivery.
 *
 * Modes: idle (no delivery, no timer) ⇄ armed.
 * Cost: O(1), nothing is allocated. A clock that is set forward nacks deliveries early, which costs a redelivery each; a
 * clock that is set back gives the deliveries that have begun the whole timeout once more.
 */
export class NackTimers {
  private first: UnackedDelivery | undefined;
  private last: UnackedDelivery | undefined;
  private stopTimer: CancelTimer | undefined;

  constructor(private readonly deps: NackTimersDeps) {}

  /** Gives the delivery the whole timeout from now, also if some of it was used. */
  start(delivery: UnackedDelivery, nowMs: number): void {
    this.stop(delivery);
    delivery.deadlineMs = nowMs + this.deps.timeoutMs;
    delivery.sooner = this.last;
    if (this.last) this.last.later = delivery;
    else this.first = delivery;
    this.last = delivery;
    if (!this.stopTimer) this.arm(this.deps.timeoutMs);
  }

  /** Takes the delivery out of the chain; a delivery that has no timer is left as it is. */
  stop(delivery: UnackedDelivery): void {
    const { sooner, later } = delivery;
    if (!sooner && this.first !== delivery) return;
    if (sooner) sooner.later = later;
    else this.first = later;
    if (later) later.sooner = sooner;
    else this.last = sooner;
    delivery.sooner = undefined;
    delivery.later = undefined;
  }

  /** Forgets the whole chain; its deliveries must not be used any more. */
  clear(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.first = undefined;
    this.last = undefined;
  }

  private arm(delayMs: number): void {
    this.stopTimer = this.deps.timers.after(delayMs, () => this.expireOverdue());
  }

  /** `onExpired` may start deliveries, which must not arm the timer before the whole chain has been checked. */
  private expireOverdue(): void {
    const now = this.deps.clock.nowMs();
    for (let next = this.first; next; next = this.first) {
      if (next.deadlineMs > now + this.deps.timeoutMs) {
        this.start(next, now); // its deadline was set by a clock that was ahead
        continue;
      }
      if (next.deadlineMs > now) {
        this.arm(next.deadlineMs - now);
        return;
      }
      this.stop(next);
      this.deps.onExpired(next);
    }
    this.stopTimer = undefined;
  }
}
