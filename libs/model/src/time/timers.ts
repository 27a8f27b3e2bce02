/** Stops a timer; calling it late or twice does nothing. */
export type CancelTimer = () => void;

/** Time that passes, as logic sees it: real timers in a service, a fake clock in tests and the simulator. */
export interface Timers {
  /**
   * Runs `run` once, `delayMs` from now. Zero, a negative delay and NaN mean as soon as possible, never at once (EB-41);
   * delays beyond what a JavaScript timer holds work too (EB-42). The clock may say a millisecond less by then, as both
   * count whole ones, or anything if it was set: who compares with it must be ready to wait again.
   */
  after(delayMs: number, run: () => void): CancelTimer;
}
