import { setMaxListeners } from 'node:events';

/**
 * Ctrl-C of one run. Modes: free (the first one aborts `signal`, and with it every request and wait) → taken over by a
 * command (each one is told to the command, which ends the run itself, with `abort`, when it is to end).
 */
export class Interrupts {
  private readonly controller = new AbortController();
  private taker: (() => void) | undefined;

  constructor() {
    // Every request and wait listens, however many there are: each stops listening when it ends.
    setMaxListeners(0, this.signal);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** One Ctrl-C. */
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
