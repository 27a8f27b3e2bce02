import type { Clock } from './clock.js';

/** How fast tokens come, and how many are kept for whoever comes at once. */
export interface TokenRate {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * So much per second, and so much at once after a quiet time: tokens that come back as time passes, up to `burst`; full at
 * first. A clock that is set back earns nothing and takes nothing away. Cost: O(1), no timer.
 */
export class TokenBucket {
  private tokens: number;
  private countedAtMs: number;

  constructor(
    private readonly clock: Clock,
    private readonly rate: TokenRate,
  ) {
    this.tokens = rate.burst;
    this.countedAtMs = clock.nowMs();
  }

  /** Takes a token, if there is one. */
  tryTake(): boolean {
    this.fill();
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }

  /** Takes a token, at need one that is yet to come. @returns ms until it is there */
  reserve(): number {
    this.fill();
    this.tokens -= 1;
    return this.msUntil(0);
  }

  /** Ms until `tryTake` would take one. */
  waitMs(): number {
    this.fill();
    return this.msUntil(1);
  }

  private msUntil(tokens: number): number {
    return Math.max(0, ((tokens - this.tokens) / this.rate.perSecond) * 1_000);
  }

  private fill(): void {
    const nowMs = this.clock.nowMs();
    const earned = (Math.max(0, nowMs - this.countedAtMs) / 1_000) * this.rate.perSecond;
    this.tokens = Math.min(this.rate.burst, this.tokens + earned);
    this.countedAtMs = nowMs;
  }
}
