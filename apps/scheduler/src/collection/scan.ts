import type { Tables } from '@waybill/state';
import type { ReapBatches } from './reap-batches.js';
import type { Thresholds } from './thresholds.js';

/**
 * Rows scanned before the scan yields: a worker's other evaluations share the thread, and wait some milliseconds at
 * most.
 */
export const ROWS_PER_TURN = 5_000;

/**
 * One scan of the state for records of one kind. It reads live tables row by row and yields in between, so it neither
 * blocks the thread nor holds a list of its findings (GC-135). Concurrent changes do no harm: every finding is checked
 * again when it is deleted, against the index of the scan's beginning (ST-16).
 */
export interface Scan {
  readonly tables: Tables;
  /** One reading of the clock for the whole run (GC-13), unix ns. */
  readonly nowNs: number;
  readonly thresholds: Thresholds;
  /** Receives the findings. */
  readonly batches: ReapBatches;
  readonly pace: ScanPace;
}

/** Iterates over rows, and yields the thread after ROWS_PER_TURN. */
export class ScanPace {
  private looked = 0;

  constructor(private readonly rest: () => Promise<void>) {}

  /** Yields between two rows only: each row is decided on the state at the moment when it is read. */
  async *through<Row>(rows: Iterable<Row>): AsyncGenerator<Row> {
    for (const row of rows) {
      yield row;
      this.looked += 1;
      if (this.looked < ROWS_PER_TURN) continue;
      this.looked = 0;
      await this.rest();
    }
  }

  /** Counts rows that were read because of the current row. */
  alsoLookedAt(rows: number): void {
    this.looked += rows;
  }
}
