import { describe, expect, it } from 'vitest';
import { isYounger, msFromNs, NS_PER_MINUTE, nsFromMs, nsFromRfc3339, rfc3339FromMs, rfc3339FromNs } from './clock.js';

/** 2026, where a unix time in nanoseconds is far beyond what a number holds exactly. */
const SOME_MS = Date.UTC(2026, 0, 1);

describe('times', () => {
  it('API-14, DP-1804: no millisecond gets lost on the way through nanoseconds, also after a sum', () => {
    for (let ms = SOME_MS; ms < SOME_MS + 10_000; ms++) {
      expect(msFromNs(nsFromMs(ms))).toBe(ms);
      expect(msFromNs(nsFromMs(ms) + 10 * NS_PER_MINUTE)).toBe(ms + 600_000);
      expect(rfc3339FromNs(nsFromRfc3339(rfc3339FromMs(ms)))).toBe(rfc3339FromMs(ms));
    }
  });

  it('what seems to come from the future, as the clock was set back, is not young', () => {
    expect([isYounger(100, 149, 50), isYounger(100, 150, 50), isYounger(-Infinity, 0, 50)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(isYounger(100, 99, 50)).toBe(false);
  });

  it('parts of a millisecond are dropped', () => {
    expect([msFromNs(1_999_000), msFromNs(999_000), msFromNs(0)]).toEqual([1, 0, 0]);
  });

  it('API-14: an instant beyond what a date holds is written as the last or first one, and throws nothing', () => {
    expect([rfc3339FromNs(1e300), rfc3339FromMs(Infinity)]).toEqual(Array(2).fill('+275760-09-13T00:00:00.000Z'));
    expect(rfc3339FromNs(-1e300)).toBe('-271821-04-20T00:00:00.000Z');
    expect(rfc3339FromNs(nsFromRfc3339('+275760-09-13T00:00:00.000Z') + 10 * NS_PER_MINUTE)).toBe(
      '+275760-09-13T00:00:00.000Z',
    );
  });
});
