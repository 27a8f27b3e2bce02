/** Stops a timer; calling it late or twice does nothing. */
export type CancelTimer = () => void;

/** Timers for logic: real ones in a service, fake ones in tests and the simulator. */
export interface Timers {
  /**
   * Runs `run` once, `delayMs` from now. Zero, a negative delay and NaN mean as soon as possible, but never
   * synchronously (EB-41). Delays beyond the limit of a JavaScript timer work too (EB-42). When the timer fires, the
   * clock may still be a millisecond behind, because both count whole ones, or show any time if it was set. Code that
   * compares the clock must be ready to wait again.
   */
  after(delayMs: number, run: () => void): CancelTimer;
}
