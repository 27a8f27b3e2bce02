import type { CancelTimer, Timers } from '@waybill/model';

export interface HousekeepingLoopOptions {
  readonly timers: Timers;
  /** Pause before the first pass. */
  readonly firstPauseMs: number;
  /** False: the loop never runs, because its work is not configured. */
  readonly isNeeded: boolean;
}

/**
 * Work that the holder does in passes, one after the other, with a pause before each.
 *
 * Modes: running (`start`) → stopped (`stop`), for one term. A pass that is under way when the loop stops ends by itself;
 * it checks `stopped` before each write. Cost: one timer.
 */
export abstract class HousekeepingLoop {
  private cancelNext: CancelTimer | undefined;
  protected stopped = false;

  constructor(private readonly loop: HousekeepingLoopOptions) {}

  start(): void {
    if (this.loop.isNeeded) this.continueAfter(this.loop.firstPauseMs);
  }

  stop(): void {
    this.stopped = true;
    this.cancelNext?.();
  }

  /** Does one pass, and resolves with the pause before the next one, ms. A pass handles its own errors. */
  protected abstract runPass(): Promise<number>;

  private continueAfter(pauseMs: number): void {
    if (this.stopped) return;
    this.cancelNext = this.loop.timers.after(pauseMs, () => {
      void this.runPass().then((nextMs) => this.continueAfter(nextMs));
    });
  }
}
