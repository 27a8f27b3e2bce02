import { expect, it } from 'vitest';
import { commonIndex, type MarkedHistory } from './log-comparison.js';

/** Transactions `first` to `last`, of which those above `fork` are of another history. */
const history = (first: number, last: number, fork = last, name = 'a'): MarkedHistory => ({
  first,
  last,
  markAt: async (index) => ({ index, requestId: index > fork ? `${name}-${index}` : `${index}`, timeNs: index }),
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
  expect(await commonIndex(history(1, 20), log)).toBe(expected);
});

it('looks at few of many', async () => {
  let asked = 0;
  const log = history(1, 1_000_000, 999_998, 'b');
  const counted: MarkedHistory = { ...log, markAt: (index) => ((asked += 1), log.markAt(index)) };
  expect(await commonIndex(history(1, 1_000_000), counted)).toBe(999_998);
  expect(asked).toBeLessThan(25);
});
