import type { RecordedMarks } from '@waybill/projection';
import { expect, it } from 'vitest';
import { commonIndex, type MarkedHistory } from './log-comparison.js';

/** Transactions `first` to `last`, of which those above `fork` are of another history. */
const history = (first: number, last: number, fork = last, name = 'a'): MarkedHistory => ({
  first,
  last,
  markAt: async (index) => ({ index, requestId: index > fork ? `${name}-${index}` : `${index}`, timeNs: index }),
});

/** What Postgres has of transactions 1 to `last`, without those between `from` and `to`. */
const recorded = (last: number, from = 0, to = 0): RecordedMarks => ({
  first: 1,
  last,
  newestUpTo: async (index) => {
    const found = index >= from && index <= to ? from - 1 : index;
    return found < 1 ? undefined : await history(1, last).markAt(found);
  },
});

it.each([
  ['a log that lost its end', history(1, 7), 7],
  ['one that has grown again since', history(1, 30, 7, 'b'), 7],
  ['one that has lost nothing', history(1, 40), 20],
  ['one that is another from its first transaction on', history(1, 30, 0, 'b'), 0],
  ['one that is empty', history(1, 0), 0],
  ['one that was trimmed', history(6, 18), 18],
  ['one that was trimmed behind what both had', history(25, 30, 7, 'b'), 0],
])('ST-1: %s has the right last index in common with Postgres', async (_what, log, expected) => {
  expect(await commonIndex(recorded(20), log)).toBe(expected);
});

it('looks at few of many', async () => {
  let asked = 0;
  const log = history(1, 1_000_000, 999_998, 'b');
  const counted: MarkedHistory = { ...log, markAt: (index) => ((asked += 1), log.markAt(index)) };
  expect(await commonIndex(recorded(1_000_000), counted)).toBe(999_998);
  expect(asked).toBeLessThan(25);
});

it.each([
  ['one that has lost nothing', history(1, 40), 20],
  ['one that lost its end behind them', history(1, 18), 18],
  ['one that lost its end among them', history(1, 12), 7],
  ['one that has grown again since it lost its end among them', history(1, 30, 12, 'b'), 7],
  ['one that lost its end before them', history(1, 30, 5, 'b'), 5],
])('ST-1: where Postgres has no records of some indexes (8 to 15): %s', async (_what, log, expected) => {
  expect(await commonIndex(recorded(20, 8, 15), log)).toBe(expected);
});

it('where nothing is lost it looks once', async () => {
  let asked = 0;
  const log = history(1, 1_000_000);
  await commonIndex(recorded(1_000_000), { ...log, markAt: (index) => ((asked += 1), log.markAt(index)) });
  expect(asked).toBe(1);
});
