import type { Clock } from '@waybill/model';

export interface QuotaRules {
  /** The largest number of events of one address within the window; 0 stands for any number. */
  readonly most: number;
  readonly windowMs: number;
  readonly clock: Clock;
}

/**
 * The largest number of addresses that are known. If there are more, the address that was quiet the longest is
 * forgotten and may begin afresh.
 */
export const MAX_ADDRESSES = 10_000;

/**
 * AddressQuota limits how often something may happen for one address within a window. Asking and counting are two
 * steps, so that only events which turn out to count are counted. Memory: `most` times for each of MAX_ADDRESSES. Cost:
 * O(most) per question.
 */
export class AddressQuota {
  /** The times of the events by address, oldest first. The address with the latest event is last. */
  private readonly times = new Map<string, readonly number[]>();

  constructor(private readonly rules: QuotaRules) {}

  /** Returns the milliseconds until the next event is allowed; 0 means now. */
  waitMs(address: string): number {
    const { most, windowMs, clock } = this.rules;
    if (most === 0) return 0;
    const times = this.recentTimes(address);
    const [oldest] = times;
    return oldest === undefined || times.length < most ? 0 : Math.max(1, oldest + windowMs - clock.nowMs());
  }

  /** Counts an event. */
  count(address: string): void {
    const { most, clock } = this.rules;
    if (most === 0) return;
    const times = [...this.recentTimes(address), clock.nowMs()].slice(-most);
    this.times.delete(address);
    this.times.set(address, times);
    const [oldest] = this.times.size > MAX_ADDRESSES ? this.times.keys() : [];
    if (oldest !== undefined) this.times.delete(oldest);
  }

  private recentTimes(address: string): readonly number[] {
    const since = this.rules.clock.nowMs() - this.rules.windowMs;
    return (this.times.get(address) ?? []).filter((at) => at > since);
  }
}
