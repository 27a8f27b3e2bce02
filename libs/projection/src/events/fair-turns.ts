/** Number of turns before the event loop continues. */
export const TURNS_AT_ONCE = 16;

/**
 * Turns on the thread for readers that could each keep it busy for long. A reader takes a turn before each piece of
 * work, in order of request. After TURNS_AT_ONCE turns, the other work of the process runs (sockets, timers, health
 * checks).
 */
export class FairTurns {
  private waiting: (() => void)[] = [];
  private isScheduled = false;

  /** @param later runs a function after the next turn of the event loop */
  constructor(private readonly later: (run: () => void) => unknown = setImmediate) {}

  takeTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled || this.waiting.length === 0) return;
    this.isScheduled = true;
    this.later(() => {
      this.isScheduled = false;
      for (const begin of this.waiting.splice(0, TURNS_AT_ONCE)) begin();
      this.schedule();
    });
  }
}
