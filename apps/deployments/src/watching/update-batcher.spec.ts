import { type Clock, FakeTime, NO_TRANSITION } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, expect, it } from 'vitest';
import {
  DEPLOYMENT_WINDOW_MS,
  FIRST_RETRY_MS,
  MAX_BATCH_BYTES,
  MAX_RETRY_MS,
  UpdateBatcher,
  WRITE_WINDOW_MS,
} from './update-batcher.js';

const { anEval } = fixtures;
const HOUR_MS = 3_600_000;

let time: FakeTime;
/** How far the wall clock is from the time that passes. */
let setMs: number;
/** The evaluations of each transaction. */
let written: string[][];
let failing: boolean;
let batcher: UpdateBatcher;
let errors: number;
/** Happens while a batch is being written. */
let meanwhile: () => void;
/** Deployments that need no update any more. */
let needless: Set<string>;
/** Characters that the update of each deployment is longer. */
let longer: number;
const WINDOWS_MS = DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS;

beforeEach(() => {
  time = new FakeTime();
  [setMs, written, failing] = [0, [], false];
  [errors, needless, longer, meanwhile] = [0, new Set(), 0, () => {}];
  const clock: Clock = { nowMs: () => time.nowMs() + setMs };
  batcher = new UpdateBatcher({
    clock,
    timers: time,
    updateOf: (id) =>
      needless.has(id)
        ? undefined
        : {
            transitions: { [id]: NO_TRANSITION },
            evaluation: anEval({ ID: id, StatusDescription: 'x'.repeat(longer) }),
          },
    write: async ({ Evals }) => {
      meanwhile();
      if (failing) throw new Error('the log does not answer');
      written.push(Evals.map(({ ID }) => ID));
    },
    onError: () => void errors++,
  });
});

it('DP-707, DP-708: a deployment gathers for a second, and its update waits a moment for those of others', async () => {
  batcher.requestUpdate('a');
  await time.pass(200);
  batcher.requestUpdate('b');
  await time.pass(DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS - 201);
  expect(written).toEqual([]);
  await time.pass(1);
  expect(written).toEqual([['a', 'b']]);
});

it('goes on when the clock is set back while deployments gather', async () => {
  batcher.requestUpdate('a');
  setMs = -HOUR_MS;
  batcher.requestUpdate('b');
  await time.pass(DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS);
  expect(written.flat().toSorted()).toEqual(['a', 'b']);
});

it('goes on when the clock is set back while due updates wait', async () => {
  batcher.requestUpdate('a');
  await time.pass(DEPLOYMENT_WINDOW_MS);
  setMs = -HOUR_MS;
  await time.pass(WRITE_WINDOW_MS);
  batcher.requestUpdate('b');
  await time.pass(DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS);
  expect(written).toEqual([['a'], ['b']]);
});

it('goes on when the clock is set back during the pause after a failed write', async () => {
  failing = true;
  batcher.requestUpdate('a');
  await time.pass(DEPLOYMENT_WINDOW_MS + WRITE_WINDOW_MS);
  failing = false;
  setMs = -HOUR_MS;
  await time.pass(FIRST_RETRY_MS);
  expect(written).toEqual([['a']]);
});

it('DP-707: a deployment that gathers or is due is asked for once; afterwards it gathers anew', async () => {
  batcher.requestUpdate('a');
  batcher.requestUpdate('a');
  await time.pass(DEPLOYMENT_WINDOW_MS);
  batcher.requestUpdate('a');
  expect(batcher.size).toBe(1);
  await time.pass(WRITE_WINDOW_MS);
  batcher.requestUpdate('a');
  await time.pass(WINDOWS_MS);
  expect(written).toEqual([['a'], ['a']]);
  expect([batcher.size, batcher.batchesWritten, batcher.evaluationsWritten]).toEqual([0, 2, 2]);
});

it('DP-708: deployments that are due apart are written apart', async () => {
  batcher.requestUpdate('a');
  await time.pass(WRITE_WINDOW_MS + 1);
  batcher.requestUpdate('b');
  await time.pass(DEPLOYMENT_WINDOW_MS);
  expect(written).toEqual([['a']]);
  await time.pass(WRITE_WINDOW_MS);
  expect(written).toEqual([['a'], ['b']]);
});

it('DP-711: what is needless by then, forgotten or of an ended term is not written', async () => {
  for (const id of ['a', 'b', 'c', 'd']) batcher.requestUpdate(id);
  needless.add('b');
  batcher.forget('c');
  await time.pass(DEPLOYMENT_WINDOW_MS);
  batcher.forget('d');
  await time.pass(WRITE_WINDOW_MS);
  expect(written).toEqual([['a']]);
  needless.add('a');
  batcher.requestUpdate('a');
  await time.pass(WINDOWS_MS);
  needless.clear();
  batcher.requestUpdate('a');
  batcher.stop();
  batcher.requestUpdate('b');
  await time.pass(WINDOWS_MS);
  expect([written, batcher.size, errors]).toEqual([[['a']], 0, 0]);
});

it('DP-711: after the end of the term no other batch is written, and a failure is not reported', async () => {
  longer = 2 * MAX_BATCH_BYTES;
  meanwhile = () => batcher.stop();
  for (const id of ['a', 'b']) batcher.requestUpdate(id);
  await time.pass(WINDOWS_MS);
  expect([written, time.pending]).toEqual([[['a']], 0]);
});

it('DP-711: a write that fails because the term has ended is neither reported nor tried again', async () => {
  failing = true;
  meanwhile = () => batcher.stop();
  batcher.requestUpdate('a');
  await time.pass(WINDOWS_MS + MAX_RETRY_MS);
  expect([errors, batcher.size, time.pending]).toEqual([0, 0, 0]);
});

it('DP-711: a deployment that is forgotten while others are written leaves no timer', async () => {
  meanwhile = () => {
    batcher.requestUpdate('b');
    batcher.forget('b');
  };
  batcher.requestUpdate('a');
  await time.pass(WINDOWS_MS);
  expect([written, time.pending]).toEqual([[['a']], 0]);
});

it('DP-709: a transaction that would be too large is split between deployments', async () => {
  longer = MAX_BATCH_BYTES / 2 - 2_000;
  for (const id of ['a', 'b', 'c']) batcher.requestUpdate(id);
  await time.pass(WINDOWS_MS);
  expect(written).toEqual([['a', 'b'], ['c']]);
  longer = 2 * MAX_BATCH_BYTES;
  for (const id of ['d', 'e']) batcher.requestUpdate(id);
  await time.pass(WINDOWS_MS);
  expect(written.slice(2)).toEqual([['d'], ['e']]);
  expect([batcher.batchesWritten, batcher.evaluationsWritten]).toEqual([4, 5]);
});

it('a failed write is tried again after a pause that doubles up to thirty seconds, and is short again afterwards', async () => {
  failing = true;
  batcher.requestUpdate('a');
  await time.pass(WINDOWS_MS);
  expect(errors).toBe(1);
  for (let pauseMs = FIRST_RETRY_MS, tries = 1; tries < 9; pauseMs = Math.min(2 * pauseMs, MAX_RETRY_MS)) {
    await time.pass(pauseMs - 1);
    expect(errors).toBe(tries);
    await time.pass(1);
    expect(errors).toBe((tries += 1));
  }
  expect(batcher.size).toBe(1);
  failing = false;
  await time.pass(MAX_RETRY_MS);
  expect(written).toEqual([['a']]);
  failing = true;
  batcher.requestUpdate('a');
  await time.pass(WINDOWS_MS);
  failing = false;
  await time.pass(FIRST_RETRY_MS);
  expect(written).toEqual([['a'], ['a']]);
});
