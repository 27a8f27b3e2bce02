import { expect, it } from 'vitest';
import { fixtures } from '../fixtures.js';
import { isSameMark, markOf } from './log-mark.js';

it('a history is known by index, request ID and time of one transaction: another one in any of them is another log', () => {
  const mark = markOf(fixtures.aTxn(7, 'Initialise', {}));
  expect(mark).toEqual({ index: 7, requestId: 'request-7', timeNs: fixtures.timeNs });
  expect(isSameMark(mark, { ...mark })).toBe(true);
  expect(isSameMark(mark, { ...mark, index: 8 })).toBe(false);
  expect(isSameMark(mark, { ...mark, requestId: 'another' })).toBe(false);
  expect(isSameMark(mark, { ...mark, timeNs: mark.timeNs + 1e9 })).toBe(false);
});
