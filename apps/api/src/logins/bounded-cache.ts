import type { Clock } from '@waybill/model';

export interface BoundedCacheLimits {
  /** The largest number of values that are kept. */
  readonly most: number;
  /** The time in milliseconds for which a value is valid, from the request for it. */
  readonly forMs: number;
  readonly clock: Clock;
}

interface Kept<Value> {
  readonly value: Promise<Value>;
  readonly untilMs: number;
}

/**
 * BoundedCache keeps values by the key from which they were made. A caller that asks while a value is being made waits
 * for it. A failure is not kept (AU-106). A replaced value stays usable for callers that have it.
 * Limit: `most`; the least recently used value is dropped first.
 */
export class BoundedCache<Value> {
  private readonly kept = new Map<string, Kept<Value>>();

  constructor(private readonly limits: BoundedCacheLimits) {}

  /** @throws the errors of `make` */
  of(key: string, make: () => Promise<Value>): Promise<Value> {
    const nowMs = this.limits.clock.nowMs();
    const known = this.kept.get(key);
    const kept = known && known.untilMs > nowMs ? known : { value: make(), untilMs: nowMs + this.limits.forMs };
    this.kept.delete(key);
    this.kept.set(key, kept);
    if (kept !== known) kept.value.catch(() => this.kept.get(key) === kept && this.kept.delete(key));
    const [oldest] = this.kept.size > this.limits.most ? this.kept.keys() : [];
    if (oldest !== undefined) this.kept.delete(oldest);
    return kept.value;
  }
}
