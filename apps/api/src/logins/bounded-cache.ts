import type { Clock } from '@waybill/model';

export interface BoundedCacheLimits {
  /** Values kept. */
  readonly most: number;
  /** How long a value counts, ms from when it was asked for. */
  readonly forMs: number;
  readonly clock: Clock;
}

interface Kept<Value> {
  readonly value: Promise<Value>;
  readonly untilMs: number;
}

/**
 * What was made a while ago, by what it was made from. Whoever asks while it is being made waits for that; a failure is
 * not kept (AU-106). A value that is replaced stays usable for those who have it.
 * Limit: `most`; of more, the one that was asked for the longest ago goes.
 */
export class BoundedCache<Value> {
  private readonly kept = new Map<string, Kept<Value>>();

  constructor(private readonly limits: BoundedCacheLimits) {}

  /** @throws what `make` throws */
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
