import { type Clock, FakeTime, NO_TRANSITION } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, expect, it } from 'vitest';
import { DEPLOYMENT_WINDOW_MS, FIRST_RETRY_MS, UpdateBatcher, WRITE_WINDOW_MS } from './update-batcher.js';

const { anEval } = fixtures;
const HOUR_MS = 3_600_000;

let time: FakeTime;
/** How far the wall clock is from the time that passes. */
let setMs: number;
/** The evaluations of each transaction. */
let written: string[][];
let failing: boolean;
let batcher: UpdateBatcher;

beforeEach(() => {
  time = new FakeTime();
  [setMs, written, failing] = [0, [], false];
  const clock: Clock = { nowMs: () => time.nowMs() + setMs };
  batcher = new UpdateBatcher({
    clock,
    timers: time,
    updateOf: (id) => ({ transitions: { [id]: NO_TRANSITION }, evaluation: anEval({ ID: id }) }),
    write: async ({ Evals }) => {
      if (failing) throw new Error('the log does not answer');
      written.push(Evals.map(({ ID }) => ID));
    },
    onError: () => {},
  });
});

it('DP-707, DP-708: a deployment gathers for a second, and its update waits a moment for those of others', async () => {
  batcher.request('a');
  await time.pass(200);
  batcher.request('b');
  await time.pass(DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS - 201);
  expect(written).toEqual([]);
  await time.pass(1);
  expect(written).toEqual([['a', 'b']]);
});

it('goes on when the clock is set back while deployments gather', async () => {
  batcher.request('a');
  setMs = -HOUR_MS;
  batcher.request('b');
  await time.pass(DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS);
  expect(written.flat().toSorted()).toEqual(['a', 'b']);
});

it('goes on when the clock is set back while due updates wait', async () => {
  batcher.request('a');
  await time.pass(DEPLOYMENT_WINDOW_MS);
  setMs = -HOUR_MS;
  await time.pass(WRITE_WINDOW_MS);
  batcher.request('b');
  await time.pass(DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS);
  expect(written).toEqual([['a'], ['b']]);
});

it('goes on when the clock is set back during the pause after a failed write', async () => {
  failing = true;
  batcher.request('a');
  await time.pass(DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS);
  failing = false;
  setMs = -HOUR_MS;
  await time.pass(FIRST_RETRY_MS);
  expect(written).toEqual([['a']]);
});
