import { expect, it } from 'vitest';
import { AGENTS_TURN_MS } from './releases/volume-watcher.js';
import { QUIESCENT_MS, FIRST_RETRY_MS, LONGEST_RETRY_MS } from './releases/volume-worker.js';

it.each<[string, number, number]>([
  ['VL-143: a worker rests for 5 min', QUIESCENT_MS, 300_000],
  ['VL-146: a failed pass is repeated after 1 s', FIRST_RETRY_MS, 1_000],
  ['VL-146: and after a minute at the latest', LONGEST_RETRY_MS, 60_000],
  ['VL-151: an agent has a minute to release its claims', AGENTS_TURN_MS, 60_000],
])('%s', (_, value, wanted) => {
  expect(value).toBe(wanted);
});
