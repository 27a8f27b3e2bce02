import { type Timers, Refusal } from '@waybill/model';
import { MAX_ALLOC_QUERY_WAIT_MS } from '@waybill/rpc';

/**
 * Reads that wait for a change, in a list for each key, so that a change costs only the reads that it concerns. Limits:
 * the owner's number of reads, MAX_ALLOC_QUERY_WAIT_MS.
 */
export class WaitingReads {
  private readonly waiting = new Map<string, Set<() => void>>();
  private count = 0;
  private isClosed = false;

  constructor(
    private readonly timers: Timers,
    private readonly most: number,
    /** Name of the reads, for the refusal when there are too many. */
    private readonly what: string,
  ) {}

  get isEmpty(): boolean {
    return this.waiting.size === 0;
  }

  /** Resolves when the key changes, or after that time. @throws Refusal limit */
  async waitForChange(key: string, maxMs: number): Promise<void> {
    const waitMs = Math.min(Math.max(maxMs, 0), MAX_ALLOC_QUERY_WAIT_MS);
    if (waitMs === 0 || this.isClosed) return;
    if (this.count >= this.most) throw new Refusal('limit', `too many reads of ${this.what} are waiting`);
    await new Promise<void>((resolve) => {
      const reads = this.waiting.get(key) ?? new Set();
      this.waiting.set(key, reads);
      const done = (): void => {
        cancel();
        this.count--;
        reads.delete(done);
        if (reads.size === 0) this.waiting.delete(key);
        resolve();
      };
      const cancel = this.timers.after(waitMs, done);
      reads.add(done);
      this.count++;
    });
  }

  wakeReadsOf(key: string): void {
    for (const done of this.waiting.get(key) ?? []) done();
  }

  /** Wakes all reads. O(waiting reads). */
  wakeAll(): void {
    for (const key of this.waiting.keys()) this.wakeReadsOf(key);
  }

  /** Answers every read with the current state; no read waits after that. */
  close(): void {
    this.isClosed = true;
    this.wakeAll();
  }
}
