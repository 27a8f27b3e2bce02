import type { Clock } from './clock.js';
import type { CancelTimer, Timers } from './timers.js';

/** Number of microtask turns that a chain of awaits in one step of a test may take. */
const SETTLE_TURNS = 100;

/** Clock and timers for tests. Time passes only on request. Timers run in order of due time, then of creation. */
export class FakeTime implements Clock, Timers {
  private due: { readonly at: number; readonly run: () => void }[] = [];

  /** @param now unix milliseconds */
  constructor(private now = 1_767_225_600_000) {}

  nowMs(): number {
    return this.now;
  }

  /** Number of pending timers. */
  get pending(): number {
    return this.due.length;
  }

  after(delayMs: number, run: () => void): CancelTimer {
    const timer = { at: this.now + (delayMs > 0 ? delayMs : 0), run };
    this.due.push(timer);
    return () => {
      this.due = this.due.filter((other) => other !== timer);
    };
  }

  /** Moves the clock without running timers, like a process that was suspended. */
  freeze(ms: number): void {
    this.now += ms;
  }

  /**
   * Lets time pass. Timers that are due run one after the other, and all work that follows from one is done before the
   * next.
   */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms;
    for (;;) {
      await settle();
      const next = this.due.filter((timer) => timer.at <= until).toSorted((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.due = this.due.filter((timer) => timer !== next);
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    this.now = Math.max(this.now, until);
    await settle();
  }
}

/** Lets settled promises run their callbacks. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) await Promise.resolve();
}
