import type { RecordedMarks } from '@waybill/projection';
import { isSameMark, type LogMark } from '@waybill/state';

/** MarkedHistory finds the transactions of a log between these indexes. */
export interface MarkedHistory {
  readonly first: number;
  readonly last: number;
  markAt(index: number): Promise<LogMark | undefined>;
}

/**
 * Returns the last recorded index at which Postgres and the log have the same transaction. Both only ever grew at their
 * ends, so they are equal up to this index and differ behind it. A binary search finds it; it begins at the end, where
 * they usually agree. The result is 0 if they have nothing in common, or nothing that both still hold.
 * Cost: two look-ups for each doubling of what both hold; two in all if nothing is lost.
 */
export async function commonIndex(recorded: RecordedMarks, log: MarkedHistory): Promise<number> {
  const first = Math.max(recorded.first, log.first);
  const last = Math.min(recorded.last, log.last);
  let common = 0;
  /** Up to `searched` no further recorded transaction is common. From `different` on none is. */
  let [searched, different] = [first - 1, last + 1];
  for (let index = last; different - searched > 1; index = Math.floor((searched + different) / 2)) {
    const mark = await recorded.newestUpTo(index);
    if (!mark || mark.index <= searched) {
      searched = index;
      continue;
    }
    const found = await log.markAt(mark.index);
    if (found && isSameMark(mark, found)) [common, searched] = [mark.index, index];
    else different = mark.index;
  }
  return common;
}
