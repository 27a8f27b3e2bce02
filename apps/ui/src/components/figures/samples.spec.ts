import { expect, it } from 'vitest';
import { newest, NO_SAMPLES, withSample } from './samples.js';

it('appends moments, with null for what was not measured then', () => {
  const first = withSample(NO_SAMPLES, { time: 1, values: { web: 10 } });
  const second = withSample(first, { time: 3, values: { side: 5 } });
  expect(second).toEqual({ times: [1, 3], values: { web: [10, null], side: [null, 5] } });
  expect([newest(second, 'side'), newest(second, 'web'), newest(second, 'nothing')]).toEqual([5, undefined, undefined]);
});

it('ignores a sample that is not newer', () => {
  const first = withSample(NO_SAMPLES, { time: 5, values: { web: 10 } });
  expect(withSample(first, { time: 5, values: { web: 11 } })).toBe(first);
  expect(withSample(first, { time: 4, values: { web: 11 } })).toBe(first);
});

it('interrupts the lines after a long pause', () => {
  const first = withSample(NO_SAMPLES, { time: 0, values: { web: 1 } });
  expect(withSample(first, { time: 15, values: { web: 2 } }).values).toEqual({ web: [1, 2] });
  expect(withSample(first, { time: 16, values: { web: 2 } })).toEqual({
    times: [0, 8, 16],
    values: { web: [1, null, 2] },
  });
});

it('keeps the newest 300 moments', () => {
  let samples = NO_SAMPLES;
  for (let time = 0; time < 400; time++) samples = withSample(samples, { time, values: { web: time } });
  expect([samples.times.length, samples.times[0], samples.values['web']?.length]).toEqual([300, 100, 300]);
});
