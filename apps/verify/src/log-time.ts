import type { Applied } from '@waybill/state';

/** How far back writers are heard, transactions. */
export const WITNESSES_WITHIN = 64;

/**
 * What time it was when the log was written, by what its writers say. Each writes the time of its own clock, and one of
 * them may be wrong: the middle of the last words of those that wrote lately counts, of an even number the earlier one.
 * Cost: O(writers) for a reading.
 */
export class LogTime {
  private readonly last = new Map<string, { readonly index: number; readonly timeNs: number }>();
  private newest = 0;

  note({ index, txn }: Applied): void {
    this.newest = index;
    this.last.set(JSON.stringify(txn.actor), { index, timeNs: txn.timeNs });
  }

  /** Unix ns; 0 before the first transaction. */
  get nowNs(): number {
    const said: number[] = [];
    for (const [actor, { index, timeNs }] of this.last)
      if (index + WITNESSES_WITHIN > this.newest) said.push(timeNs);
      else this.last.delete(actor);
    said.sort((a, b) => a - b);
    return said[(said.length - 1) >> 1] ?? 0;
  }
}
