/** Runs something later. Injected, so that logic with timers runs under a simulated clock. */
export interface Timers {
  /** Calls `run` once after `delayMs`, unless the returned function was called before. */
  after(delayMs: number, run: () => void): () => void;
}
