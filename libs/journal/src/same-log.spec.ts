import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LogMark } from '@waybill/state';
import { LogReplacedError, LogRewoundError, LogTrimmedError } from './errors.js';
import { type LogInfo, SameLog, SHORTER_MS } from './same-log.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const info = (last: number, copies: number, first = 1): LogInfo => ({
  state: { first_seq: first, last_seq: last },
  config: { num_replicas: copies },
});
const notFound = (): never => {
  throw new JetStreamApiError({
    code: 404,
    err_code: JetStreamApiCodes.StreamNotFound,
    description: 'stream not found',
  });
};
/** Which transaction the log has at each index. */
const markAt = (index: number): LogMark => ({ index, requestId: `request-${index}`, timeNs: index * 1e9 });
const goesOn = (): boolean => false;

/** Answers with one after the other, then with the last again and again. */
function asked(...answers: readonly (() => LogInfo)[]): { log: SameLog; times: () => number } {
  let times = 0;
  const log = new SameLog({
    info: async () => (answers[Math.min(times++, answers.length - 1)] ?? notFound)(),
    markAt: async (index) => markAt(index),
  });
  return { log, times: () => times };
}

it('ST-1: a single server that has less than was read has another log', async () => {
  const { log, times } = asked(() => info(5, 1));
  await expect(log.stateFor(8, goesOn)).rejects.toThrow(LogRewoundError);
  expect(times()).toBe(1);
});

it('of several, one that has not yet applied all of it is asked again', async () => {
  const { log } = asked(
    () => info(5, 3),
    notFound,
    () => info(7, 3),
  );
  const state = log.stateFor(8, goesOn);
  await vi.advanceTimersByTimeAsync(SHORTER_MS / 2);
  expect((await state).last_seq).toBe(7);
});

it('ST-1: of several, one that keeps saying so is believed', async () => {
  const { log } = asked(() => info(5, 3));
  const failed = expect(log.stateFor(8, goesOn)).rejects.toThrow(LogRewoundError);
  let isBelieved = false;
  void failed.then(() => (isBelieved = true));
  await vi.advanceTimersByTimeAsync(SHORTER_MS - 1_000);
  expect(isBelieved).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  await failed;
});

it('who is stopped does not wait for it', async () => {
  const { log } = asked(() => info(5, 3));
  await expect(log.stateFor(8, () => true)).rejects.toThrow(LogRewoundError);
});

it('what was trimmed is gone, whoever says so; an unread log may be missing still', async () => {
  const { log } = asked(() => info(9, 3, 4));
  await expect(log.stateFor(3, goesOn)).rejects.toThrow(LogTrimmedError);
  await expect(asked(notFound).log.stateFor(1, goesOn)).rejects.toThrow(JetStreamApiError);
});

describe('a log of the same length', () => {
  const { log } = asked(() => info(9, 1));

  it('ST-1: is the same if it has the transaction that was read last', async () => {
    expect((await log.stateFor(8, goesOn, markAt(7))).last_seq).toBe(9);
  });

  it.each<[string, LogMark]>([
    ['another request', { ...markAt(7), requestId: 'lost' }],
    ['the same request, decided at another time', { ...markAt(7), timeNs: 1 }],
  ])('ST-1: is another one if it has %s at that index', async (_what, mark) => {
    await expect(log.stateFor(8, goesOn, mark)).rejects.toThrow(LogReplacedError);
  });

  it('is not compared where it was trimmed', async () => {
    const { log: trimmed } = asked(() => info(9, 1, 8));
    expect((await trimmed.stateFor(8, goesOn, { ...markAt(7), requestId: 'trimmed' })).first_seq).toBe(8);
  });
});

it('ST-1: of several copies, one that has another transaction for a moment is asked again', async () => {
  let found = { ...markAt(7), requestId: 'not yet overwritten' };
  const log = new SameLog({ info: async () => info(9, 3), markAt: async () => found });
  const state = log.stateFor(8, goesOn, markAt(7));
  await vi.advanceTimersByTimeAsync(SHORTER_MS / 2);
  found = markAt(7);
  await vi.advanceTimersByTimeAsync(SHORTER_MS / 2);
  expect((await state).last_seq).toBe(9);
});
