import type { Timers } from '@waybill/model';

/** Tells a loop to stop, and ends its pauses at once. */
export class StopSignal {
  private isStopped = false;
  private readonly pauses = new Set<() => void>();

  constructor(private readonly timers: Timers) {}

  get stopped(): boolean {
    return this.isStopped;
  }

  stop(): void {
    this.isStopped = true;
    for (const end of this.pauses) end();
  }

  /** Waits for milliseconds, or until the stop, or until `early` is aborted. */
  async pause(ms: number, early?: AbortSignal): Promise<void> {
    if (this.isStopped || early?.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        this.pauses.delete(end);
        early?.removeEventListener('abort', end);
        resolve();
      };
      const cancel = this.timers.after(ms, end);
      this.pauses.add(end);
      early?.addEventListener('abort', end);
    });
  }
}

/** Pause before attempt k (from 0), milliseconds (EB-204). */
export function backoffMs(attempt: number, baseMs: number, limitMs: number): number {
  return baseMs <= 0 ? 0 : Math.min(limitMs, baseMs * 2 ** attempt);
}
