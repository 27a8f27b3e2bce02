import type { Clock } from './clock.js';
import type { CancelTimer, Timers } from './timers.js';

/** Microtask turns that a chain of awaits inside one step of a test may take. */
const SETTLE_TURNS = 100;

/** Time that passes only when told to: clock and timers for tests. Timers run in order of their time, then of their making. */
export class FakeTime implements Clock, Timers {
  private due: { readonly at: number; readonly run: () => void }[] = [];

  /** @param now unix milliseconds */
  constructor(private now = 1_767_225_600_000) {}

  nowMs(): number {
    return this.now;
  }

  /** How many timers wait. */
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

  /** Time passes without any timer running: the process stands still. */
  freeze(ms: number): void {
    this.now += ms;
  }

  /** Time passes; what is due runs, with everything that follows from it, before later timers. */
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

/** Lets promises that are already decided take their effect. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) await Promise.resolve();
}
