import type { Clock } from '@waybill/model';

export interface QuotaRules {
  /** Events of one address within the window; 0: any number. */
  readonly most: number;
  readonly windowMs: number;
  readonly clock: Clock;
}

/** Addresses that are known at a time. Of more, the one that was quiet the longest is forgotten: it may begin afresh. */
export const MAX_ADDRESSES = 10_000;

/**
 * How often something may happen for one address within a window. Asking and counting are two steps, so that only what
 * turned out to count is counted. Memory: `most` times of each of MAX_ADDRESSES. Cost: O(most) a question.
 */
export class AddressQuota {
  /** When it happened, oldest first; the address that was heard of last is last. */
  private readonly times = new Map<string, readonly number[]>();

  constructor(private readonly rules: QuotaRules) {}

  /** Ms until it may happen again; 0: now. */
  waitMs(address: string): number {
    const { most, windowMs, clock } = this.rules;
    if (most === 0) return 0;
    const times = this.recent(address);
    const [oldest] = times;
    return oldest === undefined || times.length < most ? 0 : Math.max(1, oldest + windowMs - clock.nowMs());
  }

  /** It has happened. */
  count(address: string): void {
    const { most, clock } = this.rules;
    if (most === 0) return;
    const times = [...this.recent(address), clock.nowMs()].slice(-most);
    this.times.delete(address);
    this.times.set(address, times);
    const [oldest] = this.times.size > MAX_ADDRESSES ? this.times.keys() : [];
    if (oldest !== undefined) this.times.delete(oldest);
  }

  private recent(address: string): readonly number[] {
    const since = this.rules.clock.nowMs() - this.rules.windowMs;
    return (this.times.get(address) ?? []).filter((at) => at > since);
  }
}
