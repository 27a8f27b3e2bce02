import type { Clock } from './clock.js';
import type { CancelTimer, Timers } from './timers.js';

/** How often the clock is looked at, and so how late a timer may be when it was set forward, milliseconds (DP-1804). */
export const CLOCK_LOOK_MS = 1_000;
/** A look may be this late because the process was busy, before it is taken for a jump of the clock, milliseconds. */
export const CLOCK_SLACK_MS = 250;

interface Waiting {
  readonly dueMs: number;
  readonly run: () => void;
  cancel: CancelTimer;
}

/**
 * Timers that keep to the time of day. Those of the platform count the time that passes: when the clock is set forward,
 * or the machine has slept, they are late by as much.
 *
 * idle (nothing waits) ⇄ looking: every CLOCK_LOOK_MS at the clock, and when it is not where it should be, all that wait
 * are set anew. Whoever replaces what waits arms the new timer before it cancels the old one, or the look begins anew. Setting it back makes a timer early by the platform's count; whoever is woken looks at the clock himself.
 * Cost: one timer beside those that wait; a jump costs as many timers as wait.
 */
export class WallClockTimers implements Timers {
  private readonly waiting = new Set<Waiting>();
  private cancelLook: CancelTimer | undefined;

  /** @param onJump told when the clock was set, by how much, back below 0, and all that wait are set anew */
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
