import type { Clock } from './clock.js';
import type { CancelTimer, Timers } from './timers.js';

interface Armed {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Clock and timers for tests and the simulator. Time passes only on request. Timers run in order of due time, then of
 * arming, and see the clock at their due time.
 */
export class SimulatedTime implements Clock, Timers {
  private armed: Armed[] = [];
  private orders = 0;

  /** @param now start time in unix milliseconds */
  constructor(private now = 1_767_225_600_000) {}

  nowMs(): number {
    return this.now;
  }

  /** Number of timers that have not run yet. */
  get armedCount(): number {
    return this.armed.length;
  }

  after(delayMs: number, run: () => void): CancelTimer {
    const timer = { atMs: this.now + Math.max(0, delayMs || 0), order: this.orders++, run };
    this.armed.push(timer);
    return () => {
      this.armed = this.armed.filter((other) => other !== timer);
    };
  }

  /** Moves the clock without running timers, like a process that was suspended. */
  freeze(ms: number): void {
    this.now += ms;
  }

  /** Lets time pass and runs the timers that come due, including those armed meanwhile. */
  advance(ms: number): void {
    const until = this.now + ms;
    for (let next = this.nextDue(until); next; next = this.nextDue(until)) {
      const { atMs, run } = next;
      this.armed = this.armed.filter((other) => other !== next);
      this.now = Math.max(this.now, atMs);
      run();
    }
    this.now = until;
  }

  private nextDue(untilMs: number): Armed | undefined {
    let next: Armed | undefined;
    for (const timer of this.armed)
      if (
        timer.atMs <= untilMs &&
        (!next || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order))
      )
        next = timer;
    return next;
  }
}
