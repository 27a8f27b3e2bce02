import type { Clock } from '@waybill/model';

export interface RecentReadsLimits {
  /** Answers kept. */
  readonly most: number;
  /** How long an answer counts, milliseconds from when it was asked for. */
  readonly forMs: number;
  readonly clock: Clock;
}

interface Recent<Value> {
  readonly value: Promise<Value>;
  readonly untilMs: number;
}

/**
 * Answers of reads that were made a moment ago, by key. Whoever asks while a read is under way waits for that one. `forget`
 * when what was read changes: nothing that was asked for before counts after it. A read that fails is not kept.
 * Limit: `most`; the oldest answer goes first. Cost: a look-up.
 */
export class RecentReads<Value> {
  private readonly recent = new Map<string, Recent<Value>>();

  constructor(private readonly limits: RecentReadsLimits) {}

  /** @throws what `read` throws */
  of(key: string, read: () => Promise<Value>): Promise<Value> {
    const now = this.limits.clock.nowMs();
    const known = this.recent.get(key);
    if (known && known.untilMs > now) return known.value;
    const value = read();
    this.keep(key, { value, untilMs: now + this.limits.forMs });
    return value;
  }

  forget(): void {
    this.recent.clear();
  }

  private keep(key: string, made: Recent<Value>): void {
    this.recent.delete(key);
    this.recent.set(key, made);
    made.value.catch(() => {
      if (this.recent.get(key) === made) this.recent.delete(key);
    });
    if (this.recent.size <= this.limits.most) return;
    for (const oldest of this.recent.keys()) {
      this.recent.delete(oldest);
      break;
    }
  }
}
