import type { Clock } from '@waybill/model';

export interface RecentReadsOptions {
  /** Answers kept. */
  readonly most: number;
  /** How long answers count without a look whether they still do, milliseconds. */
  readonly forMs: number;
  /** A number that is another one when anything that is read here has changed. */
  readonly version: () => Promise<number>;
  readonly clock: Clock;
}

/**
 * Answers of reads, by key, until what was read changes: `forget` says so, and nothing that was asked for before counts
 * after it. Should nobody say it, the version is compared after `forMs`, once for all answers. Whoever asks while a read is
 * under way waits for that one. A read that fails is not kept.
 * Limit: `most`; the oldest answer goes first. Cost: a look-up, and the version every `forMs`.
 */
export class RecentReads<Value> {
  private readonly recent = new Map<string, Promise<Value>>();
  private version: number | undefined;
  private comparedAtMs: number | undefined;
  private comparing: Promise<void> | undefined;

  constructor(private readonly options: RecentReadsOptions) {}

  /** @throws what `read` and `version` throw */
  async of(key: string, read: () => Promise<Value>): Promise<Value> {
    if (!this.isRecent()) await (this.comparing ??= this.compare());
    const known = this.recent.get(key);
    if (known) return known;
    const value = read();
    this.keep(key, value);
    return value;
  }

  forget(): void {
    this.recent.clear();
  }

  private isRecent(): boolean {
    if (this.comparedAtMs === undefined) return false;
    const ageMs = this.options.clock.nowMs() - this.comparedAtMs;
    return ageMs >= 0 && ageMs < this.options.forMs;
  }

  private async compare(): Promise<void> {
    try {
      const nowMs = this.options.clock.nowMs();
      const version = await this.options.version();
      if (version !== this.version) this.forget();
      [this.version, this.comparedAtMs] = [version, nowMs];
    } finally {
      this.comparing = undefined;
    }
  }

  private keep(key: string, value: Promise<Value>): void {
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
