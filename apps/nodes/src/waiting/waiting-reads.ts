import { type Timers, Refusal } from '@waybill/model';
import { MAX_ALLOC_QUERY_WAIT_MS } from '@waybill/rpc';

/**
 * Reads that wait for news of what they asked, in a list for each key, so that a change costs the reads that it concerns.
 * Limits: as many as the owner says, MAX_ALLOC_QUERY_WAIT_MS.
 */
export class WaitingReads {
  private readonly waiting = new Map<string, Set<() => void>>();
  private count = 0;
  private isClosed = false;

  constructor(
    private readonly timers: Timers,
    private readonly most: number,
    /** For the refusal of one too many: what is read. */
    private readonly what: string,
  ) {}

  get isEmpty(): boolean {
    return this.waiting.size === 0;
  }

  /** Resolves with news of the key, or after that time. @throws Refusal limit */
  async news(key: string, maxMs: number): Promise<void> {
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

  wake(key: string): void {
    for (const done of this.waiting.get(key) ?? []) done();
  }

  /** O(waiting reads). */
  wakeAll(): void {
    for (const key of this.waiting.keys()) this.wake(key);
  }

  /** Every read is answered with what there is; none waits any more. */
  close(): void {
    this.isClosed = true;
    this.wakeAll();
  }
}
