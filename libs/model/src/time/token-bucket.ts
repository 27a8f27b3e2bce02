import type { Clock } from './clock.js';

/** Rate at which tokens arrive, and how many are kept for a burst. */
export interface TokenRate {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * A rate limit: so many tokens per second, and up to `burst` at once after a quiet time. The bucket starts full. A
 * clock that is set back neither adds nor removes tokens. Cost: O(1), no timer.
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

  /** Takes a token if there is one. */
  tryTake(): boolean {
    this.fill();
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }

  /** Takes a token, if necessary one that arrives later. @returns ms until it arrives */
  reserve(): number {
    this.fill();
    this.tokens -= 1;
    return this.msUntil(0);
  }

  /** Returns the ms until `tryTake` would succeed. */
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
