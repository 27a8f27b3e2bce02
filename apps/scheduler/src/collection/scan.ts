import type { Tables } from '@waybill/state';
import type { ReapBatches } from './reap-batches.js';
import type { Thresholds } from './thresholds.js';

/** Rows looked at in one go: a worker's other evaluations share the thread, and wait some milliseconds at most. */
export const ROWS_PER_TURN = 5_000;

/**
 * One look through the state for records of one kind. It reads live tables, row after row, and lets others have their
 * turn in between, so it holds neither the thread nor a list of all that it finds (GC-135). What changes meanwhile does
 * no harm: everything found is looked at again where it is deleted, against the index of the beginning (ST-16).
 */
export interface Scan {
  readonly tables: Tables;
  /** One reading of the clock for the whole run (GC-13), unix ns. */
  readonly nowNs: number;
  readonly thresholds: Thresholds;
  /** Takes what is found. */
  readonly batches: ReapBatches;
  readonly pace: ScanPace;
}

/** Goes through rows, and rests when enough was looked at in one go. */
export class ScanPace {
  private looked = 0;

  constructor(private readonly rest: () => Promise<void>) {}

  /** Rests between two rows only: what is decided about a row is decided on the state as it is when the row comes. */
  async *through<Row>(rows: Iterable<Row>): AsyncGenerator<Row> {
    for (const row of rows) {
      yield row;
      this.looked += 1;
      if (this.looked < ROWS_PER_TURN) continue;
      this.looked = 0;
      await this.rest();
    }
  }

  /** Rows that were looked at for the sake of the present one. */
  alsoLookedAt(rows: number): void {
    this.looked += rows;
  }
}
