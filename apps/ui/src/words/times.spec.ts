import { describe, expect, it } from 'vitest';
import { distanceInWords, exactTime, lengthInWords, millisecondsOf } from './times.js';

const HOUR = 3_600_000;

describe('times in words', () => {
  it.each([
    [0, '0 s'],
    [400, '0.4 s'],
    [12_000, '12 s'],
    [75_000, '1 min 15 s'],
    [60_000, '1 min'],
    [3 * HOUR + 12 * 60_000 + 5_000, '3 h 12 min'],
    [50 * HOUR, '2 d 2 h'],
  ])('%d ms last %s', (ms, words) => expect(lengthInWords(ms)).toBe(words));

  it.each([
    [0, 'just now'],
    [12_345, '12 s ago'],
    [HOUR * 3 + 59 * 60_000, '3 h ago'],
    [-90_000, 'in 1 min'],
  ])('%d ms later: %s', (ms, words) => expect(distanceInWords(1e12, 1e12 + ms)).toBe(words));

  it('reads the forms that the API has, and none', () => {
    expect(millisecondsOf(1_700_000_000_000_000_000)).toBe(1_700_000_000_000);
    expect(millisecondsOf('2026-01-02T03:04:05Z')).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
    for (const none of [null, undefined, 0, '', 'soon']) expect(millisecondsOf(none)).toBeUndefined();
  });

  it('is exact to the millisecond, with the zone', () => {
    expect(exactTime(Date.UTC(2026, 0, 2, 3, 4, 5, 67))).toMatch(/^2026-01-0\d \d\d:\d\d:05\.067 GMT[+-]\d{4}$/);
  });
});
