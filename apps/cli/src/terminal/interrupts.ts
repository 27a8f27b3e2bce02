import { setMaxListeners } from 'node:events';

/**
 * Ctrl-C of one run. Modes: default (the first one aborts `signal`, and with it every request and wait) → taken over by
 * a command (the command handles each one and calls `abort` to end the run).
 */
export class Interrupts {
  private readonly controller = new AbortController();
  private taker: (() => void) | undefined;

  constructor() {
    // Every request and wait adds a listener and removes it at its end, so there may be many.
    setMaxListeners(0, this.signal);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Handles one Ctrl-C. */
  press(): void {
    if (this.taker) this.taker();
    else this.abort();
  }

  takeOver(taker: () => void): void {
    this.taker = taker;
  }

  abort(): void {
    this.controller.abort();
  }
}
