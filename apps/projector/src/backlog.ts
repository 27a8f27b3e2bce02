import type { Applied } from '@waybill/state';

/**
 * The largest number of transactions that were applied and not yet written. At this limit reading of the log pauses.
 */
export const MAX_BACKLOG_TXNS = 4_000;
/** The largest number of rows that those transactions change. It matters for plans with thousands of allocations. */
export const MAX_BACKLOG_ROWS = 20_000;
/** The largest number of transactions in one batch. A larger batch is not faster, and its readers wait longer. */
export const MAX_BATCH_TXNS = 1_000;
export const MAX_BATCH_ROWS = 5_000;

/**
 * Backlog holds applied transactions between the reader of the log and the writer.
 *
 * open → closed. The reader waits for room, the writer for transactions. `close` releases both.
 * Limits: MAX_BACKLOG_TXNS and MAX_BACKLOG_ROWS, exceeded at most by what the log delivers at once.
 */
export class Backlog {
  private waiting: Applied[] = [];
  private rows = 0;
  private open = true;
  private onChange: (() => void)[] = [];

  get size(): number {
    return this.waiting.length;
  }

  add(one: Applied): void {
    this.waiting.push(one);
    this.rows += one.changes.length;
  }

  /** Tells the writer that everything delivered so far is added, and waits until there is room for more. */
  async room(): Promise<void> {
    this.changed();
    while (this.open && (this.waiting.length >= MAX_BACKLOG_TXNS || this.rows >= MAX_BACKLOG_ROWS)) await this.change();
  }

  /**
   * Returns the next batch of at least one transaction, oldest first. The result is undefined when the backlog is
   * closed.
   */
  async next(): Promise<readonly Applied[] | undefined> {
    while (this.open && this.waiting.length === 0) await this.change();
    if (!this.open) return undefined;
    let rows = 0;
    let count = 0;
    for (const { changes } of this.waiting) {
      if (count === MAX_BATCH_TXNS || (count > 0 && rows + changes.length > MAX_BATCH_ROWS)) break;
      rows += changes.length;
      count += 1;
    }
    const batch = this.waiting.splice(0, count);
    this.rows -= rows;
    this.changed();
    return batch;
  }

  close(): void {
    this.open = false;
    this.waiting = [];
    this.changed();
  }

  private change(): Promise<void> {
    return new Promise((resolve) => this.onChange.push(resolve));
  }

  private changed(): void {
    for (const resolve of this.onChange.splice(0)) resolve();
  }
}
