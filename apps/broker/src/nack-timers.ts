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
 * last: a list in order of starting, and one timer for its first. A timer whose delivery has ended meanwhile wakes for
 * nothing and waits for the next one: ending a delivery touches no timer.
 * Cost: O(1). A clock that is set forward ends deliveries early, which costs a redelivery each.
 */
export class NackTimers {
  /** Unix ms of the end, soonest first. */
  private deadlines = new Map<Outstanding, number>();
  private stopTimer: CancelTimer | undefined;

  constructor(private readonly deps: NackTimersDeps) {}

  /** The whole time from now, also if some of it was used. */
  start(delivery: Outstanding): void {
    this.deadlines.delete(delivery);
    this.deadlines.set(delivery, this.deps.clock.nowMs() + this.deps.timeoutMs);
    if (!this.stopTimer) this.arm(this.deps.timeoutMs);
  }

  stop(delivery: Outstanding): void {
    this.deadlines.delete(delivery);
  }

  clear(): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    this.deadlines = new Map();
  }

  private arm(delayMs: number): void {
    this.stopTimer = this.deps.timers.after(delayMs, () => this.wake());
  }

  /** What expires may start deliveries; they must not arm the timer before the rest has been looked at. */
  private wake(): void {
    const now = this.deps.clock.nowMs();
    for (const [delivery, deadlineMs] of this.deadlines) {
      if (deadlineMs > now) {
        this.arm(deadlineMs - now);
        return;
      }
      this.deadlines.delete(delivery);
      this.deps.onExpired(delivery);
    }
    this.stopTimer = undefined;
  }
}
