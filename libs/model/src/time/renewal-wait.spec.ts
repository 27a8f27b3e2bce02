import { expect, it } from 'vitest';
import { renewalRetryMs, renewalWaitMs } from './renewal-wait.js';

const MINUTE = 60_000;

it.each([
  ['1 h', 60 * MINUTE, 30 * MINUTE, 33 * MINUTE],
  ['60 s', MINUTE, 30_000, 33_000],
  ['15 s', 15_000, 10_000, 11_000],
  ['nothing', 0, 10_000, 11_000],
  ['less than nothing', -MINUTE, 10_000, 11_000],
])('AU-153: with %s left a token is renewed after %d ms to %d ms', (_, left, from, to) => {
  expect(renewalWaitMs(left, 0)).toBe(from);
  expect(renewalWaitMs(left, 1)).toBe(to);
});

it('AU-179: the same arithmetic with another minimum', () => {
  const left = 719 * 60 * MINUTE;
  expect(renewalWaitMs(left, 0, 15 * MINUTE)).toBe(1_294_200_000);
  expect(renewalWaitMs(left, 1, 15 * MINUTE)).toBe(1_423_620_000);
  expect(renewalWaitMs(MINUTE, 0, 15 * MINUTE)).toBe(15 * MINUTE);
});

it.each([
  [1, 20_000],
  [2, 40_000],
  [8, 2_560_000],
  [9, 3_600_000],
  [2_000, 3_600_000],
])('AU-154: failure %d in a row is tried again after %d ms and up to 10 s', (failures, from) => {
  expect(renewalRetryMs(failures, 0)).toBe(from);
  expect(renewalRetryMs(failures, 1)).toBe(from + 10_000);
});
