import type { Clock } from '@waybill/model';

/** Refusals in words that one process gives per second, and at once after a quiet time (OP-225). */
export const REFUSALS_PER_SECOND = 10;
export const REFUSAL_BURST = 100;

/**
 * Whether one more refusal may be put into words: whoever floods a server with connections must not make it write as
 * many answers. Full at first; refills by REFUSALS_PER_SECOND, up to REFUSAL_BURST.
 */
export class RefusalBudget {
  private left = REFUSAL_BURST;
  private filledMs: number;

  constructor(private readonly clock: Clock) {
    this.filledMs = clock.nowMs();
  }

  take(): boolean {
    const nowMs = this.clock.nowMs();
    const earned = (Math.max(0, nowMs - this.filledMs) / 1_000) * REFUSALS_PER_SECOND;
    this.left = Math.min(REFUSAL_BURST, this.left + earned);
    this.filledMs = nowMs;
    if (this.left < 1) return false;
    this.left--;
    return true;
  }
}
