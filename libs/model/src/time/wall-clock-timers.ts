import type { Clock } from './clock.js';
import type { CancelTimer, Timers } from './timers.js';

/**
 * Milliseconds between two checks of the clock, and so the largest delay of a timer after the clock was set forward
 * (DP-1804).
 */
export const CLOCK_LOOK_MS = 1_000;
/** Milliseconds by which a check may be late in a busy process before it counts as a jump of the clock. */
export const CLOCK_SLACK_MS = 250;

interface Waiting {
  readonly dueMs: number;
  readonly run: () => void;
  cancel: CancelTimer;
}

/**
 * Timers that follow the time of day. Platform timers count elapsed time, so they are late after the clock was set
 * forward or the machine has slept.
 *
 * idle (no timer waits) ⇄ checking: every CLOCK_LOOK_MS the clock is read, and if it has jumped, all waiting timers are
 * armed again. Code that replaces a timer arms the new one before it cancels the old one; otherwise the checks start
 * over. If the clock is set back, a timer fires early by the platform's count, and its owner must compare the clock
 * itself. Cost: one timer beside the waiting ones. A jump costs as many timers as wait.
 */
export class WallClockTimers implements Timers {
  private readonly waiting = new Set<Waiting>();
  private cancelLook: CancelTimer | undefined;

  /**
   * @param onJump called when the clock was set and all waiting timers were armed again; its argument is the jump,
   * negative if the clock was set back
   */
  constructor(
    private readonly time: { readonly clock: Clock; readonly timers: Timers },
    private readonly onJump: (byMs: number) => void = () => {},
  ) {}

  after(delayMs: number, run: () => void): CancelTimer {
    const waiting: Waiting = { dueMs: this.time.clock.nowMs() + delayMs, run, cancel: () => {} };
    this.waiting.add(waiting);
    this.set(waiting);
    if (!this.cancelLook) this.lookLater();
    return () => {
      waiting.cancel();
      this.forget(waiting);
    };
  }

  private set(waiting: Waiting): void {
    waiting.cancel();
    waiting.cancel = this.time.timers.after(waiting.dueMs - this.time.clock.nowMs(), () => {
      this.waiting.delete(waiting);
      waiting.run(); // which may wait for something else: a jump that has yet to be noticed must not be forgotten between
      this.lookIfWaiting();
    });
  }

  private forget(waiting: Waiting): void {
    this.waiting.delete(waiting);
    this.lookIfWaiting();
  }

  private lookIfWaiting(): void {
    if (this.waiting.size > 0) return;
    this.cancelLook?.();
    this.cancelLook = undefined;
  }

  private lookLater(): void {
    const { clock, timers } = this.time;
    const expectedMs = clock.nowMs() + CLOCK_LOOK_MS;
    this.cancelLook = timers.after(CLOCK_LOOK_MS, () => {
      this.lookLater();
      const byMs = clock.nowMs() - expectedMs;
      if (Math.abs(byMs) <= CLOCK_SLACK_MS) return;
      for (const one of this.waiting) this.set(one);
      this.onJump(byMs);
    });
  }
}
