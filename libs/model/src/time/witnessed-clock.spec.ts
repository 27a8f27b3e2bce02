import { beforeEach, describe, expect, it } from 'vitest';
import {
  believedMs,
  CLOCK_DOUBT_MS,
  CLOCK_TOLERANCE_MS,
  MAX_WITNESS_TRIP_MS,
  WitnessedClock,
} from './witnessed-clock.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const JUMPS = [HOUR_MS, -HOUR_MS, DAY_MS, -DAY_MS];

describe('which of three accounts is believed', () => {
  it.each(JUMPS)('a wall clock that is %d ms off alone moves nothing, nor does a witness', (off) => {
    expect(believedMs({ wallMs: 1e9 + off, expectedMs: 1e9, witnessMs: 1e9 + 3 })).toBeLessThanOrEqual(1e9 + 3);
    expect(believedMs({ wallMs: 1e9 + off, expectedMs: 1e9, witnessMs: 1e9 + 3 })).toBeGreaterThanOrEqual(1e9);
    expect(believedMs({ wallMs: 1e9, expectedMs: 1e9, witnessMs: 1e9 + off })).toBe(1e9);
  });

  it.each(JUMPS)('what was believed is given up when wall clock and witness agree on another time (%d ms)', (off) =>
    expect(believedMs({ wallMs: 1e9, expectedMs: 1e9 + off, witnessMs: 1e9 + 300 })).toBe(1e9),
  );

  it('in the beginning the witness is believed, and without one the wall clock', () => {
    expect(believedMs({ wallMs: 1e9 + HOUR_MS, expectedMs: undefined, witnessMs: 1e9 })).toBe(1e9);
    expect(believedMs({ wallMs: 1e9, expectedMs: undefined, witnessMs: undefined })).toBe(1e9);
  });

  it('without a witness nobody says whether a clock that was set is right', () =>
    expect(believedMs({ wallMs: 1e9 + HOUR_MS, expectedMs: 1e9, witnessMs: undefined })).toBeUndefined());
});

describe('a clock with a witness', () => {
  let trueMs = 0;
  let offMs = 0;
  let sleptMs = 0;
  let doubts = 0;
  let clock: WitnessedClock;
  const pass = (ms: number): number => (trueMs += ms);
  const errorMs = (): number => clock.nowMs() - trueMs;

  beforeEach(() => {
    trueMs = 1_767_225_600_000;
    offMs = sleptMs = doubts = 0;
    clock = new WitnessedClock({
      wall: { nowMs: () => trueMs + offMs },
      monotonic: { nowMs: () => trueMs - sleptMs - 1_000_000 },
      sinceBoot: () => trueMs - 1_000_000,
      onDoubt: () => doubts++,
    });
  });

  it.each(JUMPS)(
    'a jump of %d ms for some seconds or for good is not believed, and the way back is no jump',
    (jump) => {
      clock.hear(trueMs, 2);
      expect(errorMs()).toBe(0);
      offMs = jump;
      for (let s = 0; s < 600; s++) {
        pass(1_000);
        if (s % 5 === 0) clock.hear(trueMs, 2);
        expect(Math.abs(errorMs())).toBeLessThanOrEqual(2);
      }
      expect(doubts).toBe(1);
      expect(Math.abs(clock.offMs - jump)).toBeLessThanOrEqual(2);
      offMs = 0;
      expect([errorMs(), clock.offMs]).toEqual([0, 0]);
    },
  );

  it('a clock that was wrong from the start is corrected by the first word of a witness', () => {
    offMs = HOUR_MS;
    expect(errorMs()).toBe(HOUR_MS);
    clock.hear(trueMs, 0);
    expect(errorMs()).toBe(0);
  });

  it.each([0.05, -0.05])('a clock that runs %d too fast is off by the tolerance at most', (drift) => {
    const startMs = trueMs;
    for (let s = 0; s < 3_600; s++) {
      pass(1_000);
      offMs = Math.round((trueMs - startMs) * drift);
      if (s % 5 === 0) clock.hear(trueMs, 2);
      expect(Math.abs(errorMs())).toBeLessThanOrEqual(CLOCK_TOLERANCE_MS + 2);
    }
  });

  it.each(JUMPS)('a witness that jumps by %d ms moves nothing', (jump) => {
    clock.hear(trueMs, 2);
    expect(errorMs()).toBe(0);
    pass(1_000);
    clock.hear(trueMs + jump, 2);
    expect(errorMs()).toBe(0);
    pass(1_000);
    clock.hear(trueMs, 2);
    expect([errorMs(), clock.offMs]).toEqual([0, 0]);
  });

  it('a correction of the clock is believed as soon as the witness agrees', () => {
    offMs = -HOUR_MS;
    clock.nowMs();
    offMs = 0;
    expect(errorMs()).toBe(-HOUR_MS);
    expect(doubts).toBe(1);
    clock.hear(trueMs, 5);
    expect(errorMs()).toBe(0);
  });

  it('without a witness a clock that was set is believed after a while, and one that is set back before never was', () => {
    clock.nowMs();
    offMs = HOUR_MS;
    pass(1_000);
    expect(errorMs()).toBe(0);
    pass(8_000);
    offMs = 0;
    expect(errorMs()).toBe(0);
    offMs = HOUR_MS;
    pass(1_000);
    expect(errorMs()).toBe(0);
    pass(CLOCK_DOUBT_MS);
    expect(errorMs()).toBe(HOUR_MS);
  });

  it('time in which the machine slept is time that has passed, with and without a witness', () => {
    clock.nowMs();
    sleptMs += HOUR_MS;
    pass(HOUR_MS);
    expect([errorMs(), doubts]).toEqual([0, 0]);
    clock.hear(trueMs, 2);
    sleptMs += DAY_MS;
    pass(DAY_MS);
    expect([errorMs(), doubts]).toEqual([0, 0]);
    offMs = HOUR_MS;
    pass(1_000);
    expect(Math.abs(errorMs())).toBeLessThanOrEqual(1);
  });

  it('however often it is read while the wall clock is wrong, no time is lost', () => {
    clock.hear(trueMs, 2);
    clock.nowMs();
    offMs = HOUR_MS;
    for (let n = 0; n < 10_000; n++) {
      pass(0.3);
      clock.nowMs();
    }
    expect(Math.abs(errorMs())).toBeLessThanOrEqual(2);
  });

  it('an answer that took long says too little about the time', () => {
    expect(clock.hear(trueMs - DAY_MS, MAX_WITNESS_TRIP_MS + 1)).toBe(false);
    expect(errorMs()).toBe(0);
  });
});
