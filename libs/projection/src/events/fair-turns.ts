/** Turns that begin before the event loop goes on. */
export const TURNS_AT_ONCE = 16;

/**
 * Turns at the thread for readers of which each could keep it busy for long: a reader takes a turn before each piece of
 * its work, in the order in which they asked, and between TURNS_AT_ONCE of them everything else of the process runs
 * (sockets, timers, health checks).
 */
export class FairTurns {
  private waiting: (() => void)[] = [];
  private isScheduled = false;

  /** @param later runs something once the event loop has gone round */
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
