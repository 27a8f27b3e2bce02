import type { Clock } from '@waybill/model';

export interface RecentReadsOptions {
  /** The largest number of results that are kept. */
  readonly most: number;
  /** The time in milliseconds for which results are valid without comparing the version. */
  readonly forMs: number;
  /** Returns a number that changes whenever the data of the reads changes. */
  readonly version: () => Promise<number>;
  readonly clock: Clock;
}

/**
 * RecentReads keeps the results of reads by key until their data changes. `clearValues` reports a change; no result of a
 * read from before it is used afterwards. In case a report is lost, the version is compared after `forMs`, once for all
 * results. A caller that asks during a read waits for that read. The result of a failed read is not kept.
 * Limit: `most`; the oldest result is dropped first. Cost: a look-up, and the version every `forMs`.
 */
export class RecentReads<Value> {
  private readonly recent = new Map<string, Promise<Value>>();
  private version: number | undefined;
  private comparedAtMs: number | undefined;
  private comparing: Promise<void> | undefined;

  constructor(private readonly options: RecentReadsOptions) {}

  /** @throws the errors of `read` and `version` */
  async of(key: string, read: () => Promise<Value>): Promise<Value> {
    if (!this.isRecent()) await (this.comparing ??= this.compareVersion());
    const known = this.recent.get(key);
    if (known) return known;
    const value = read();
    this.storeValue(key, value);
    return value;
  }

  clearValues(): void {
    this.recent.clear();
  }

  private isRecent(): boolean {
    if (this.comparedAtMs === undefined) return false;
    const ageMs = this.options.clock.nowMs() - this.comparedAtMs;
    return ageMs >= 0 && ageMs < this.options.forMs;
  }

  private async compareVersion(): Promise<void> {
    try {
      const nowMs = this.options.clock.nowMs();
      const version = await this.options.version();
      if (version !== this.version) this.clearValues();
      [this.version, this.comparedAtMs] = [version, nowMs];
    } finally {
      this.comparing = undefined;
    }
  }

  private storeValue(key: string, value: Promise<Value>): void {
    this.recent.set(key, value);
    value.catch(() => {
      if (this.recent.get(key) === value) this.recent.delete(key);
    });
    if (this.recent.size <= this.options.most) return;
    for (const oldest of this.recent.keys()) {
      this.recent.delete(oldest);
      break;
    }
  }
}
