import type { CancelTimer, Clock, Timers } from '@waybill/model';
import type { Outstanding } from './tracked-evaluation.js';

export interface NackTimersDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  /** The same for every delivery, ms. */
  readonly timeoutMs: number;
  /** Its time is over; it is not here any more. */
  readonly onExpired: (delivery: Outstanding) => void;
}

/**
 * How long each delivery may still take (EB-80, EB-87 to EB-90). As all have the same time, who starts last expires
 * last: a chain in order of starting, and one timer for its first. A timer whose delivery has ended meanwhile wakes for
 * nothing and waits for the next one: ending a delivery touches no timer.
 * Cost: O(1), nothing allocated. A clock that is set forward ends deliveries early, which costs a redelivery each; one that
 * is set back gives those that have begun the whole time once more.
 */
export class NackTimers {
  private first: Outstanding | undefined;
  private last: Outstanding | undefined;
  private stopTimer: CancelTimer | undefined;

  constructor(private readonly deps: NackTimersDeps) {}

  /** The whole time from now, also if some of it was used. */
  start(delivery: Outstanding, nowMs: number): void {
    this.stop(delivery);
    delivery.deadlineMs = nowMs + this.deps.timeoutMs;
    delivery.sooner = this.last;
    if (this.last) this.last.later = delivery;
    else this.first = delivery;
    this.last = delivery;
    if (!this.stopTimer) this.arm(this.deps.timeoutMs);
  }

  /** Of a delivery without timer: nothing. */
  stop(delivery: Outstanding): void {
    const { sooner, later } = delivery;
    if (!sooner && this.first !== delivery) return;
    if (sooner) sooner.later = later;
    else this.first = later;
    if (later) later.sooner = sooner;
    else this.last = sooner;
    delivery.sooner = undefined;
    delivery.later = undefined;
  }

  /** What is in the chain is forgotten with it. */
  clear(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.first = undefined;
    this.last = undefined;
  }

  private arm(delayMs: number): void {
    this.stopTimer = this.deps.timers.after(delayMs, () => this.wake());
  }

  /** What expires may start deliveries; they must not arm the timer before the rest has been looked at. */
  private wake(): void {
    const now = this.deps.clock.nowMs();
    for (let next = this.first; next; next = this.first) {
      if (next.deadlineMs > now + this.deps.timeoutMs) {
        this.start(next, now); // by a clock that was ahead
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
