import { isSameMark, type LogMark } from '@waybill/state';

/** Where the transactions of a history can be looked up, between these indexes. */
export interface MarkedHistory {
  readonly first: number;
  readonly last: number;
  markAt(index: number): Promise<LogMark | undefined>;
}

/**
 * The last index at which two histories have the same transaction. Both only ever grew at their ends, so they are the
 * same up to there and nowhere behind it: a binary search finds it. 0: they have nothing in common, or nothing that both
 * still hold.
 * Cost: two look-ups for each doubling of what both hold.
 */
export async function commonIndex(one: MarkedHistory, other: MarkedHistory): Promise<number> {
  const first = Math.max(one.first, other.first);
  const last = Math.min(one.last, other.last);
  /** Known to be common, and known not to be. */
  let [common, different] = [first - 1, last + 1];
  while (different - common > 1) {
    const index = Math.floor((common + different) / 2);
    const [a, b] = await Promise.all([one.markAt(index), other.markAt(index)]);
    if (a && b && isSameMark(a, b)) common = index;
    else different = index;
  }
  return common < first ? 0 : common;
}
