import type { Clock } from '@waybill/model';

/** VL-146: passes of one volume per second, and how many may follow each other at once. */
export const PASSES_PER_SECOND = 1;
export const PASS_BURST = 3;

/** A bucket of tokens that fills with time: how long the next pass of a volume must wait. */
export class PassLimit {
  private tokens = PASS_BURST;
  private countedAtMs: number;

  constructor(private readonly clock: Clock) {
    this.countedAtMs = clock.nowMs();
  }

  /** Takes a token; answers how long to wait for it, milliseconds. */
  take(): number {
    const now = this.clock.nowMs();
    const gained = (Math.max(0, now - this.countedAtMs) / 1_000) * PASSES_PER_SECOND;
    this.tokens = Math.min(PASS_BURST, this.tokens + gained) - 1;
    this.countedAtMs = now;
    return this.tokens >= 0 ? 0 : (-this.tokens / PASSES_PER_SECOND) * 1_000;
  }
}
