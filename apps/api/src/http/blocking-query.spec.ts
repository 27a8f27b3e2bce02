import { FakeTime } from '@waybill/model';
import { Watches } from '@waybill/projection';
import { beforeEach, describe, expect, it } from 'vitest';
import { BlockingQueries } from './blocking-query.js';
import { MAX_WAIT_MS, waitParam } from './query-string.js';

const WATCHED = [['jobs', 'default/web'] as const];

let time: FakeTime;
let watches: Watches;
let index: number;
let ran: number;

beforeEach(() => {
  time = new FakeTime();
  watches = new Watches(time);
  index = 5;
  ran = 0;
});

/** The answer, once there is one. */
function asked(minIndex: number, waitMs = 10_000, random = 0): { readonly answer: { index: number } | undefined } {
  const seen: { answer: { index: number } | undefined } = { answer: undefined };
  const queries = new BlockingQueries(watches, time, () => random);
  const options = { minIndex, waitMs, signal: new AbortController().signal };
  const query = async (): Promise<{ index: number }> => {
    ran += 1;
    return { index };
  };
  void queries.runQuery(options, WATCHED, query).then((answer) => (seen.answer = answer));
  return seen;
}

describe('BlockingQueries', () => {
  it('ST-150: index 0 answers at once; the wait is five minutes unless a shorter one is asked for', async () => {
    const now = asked(0);
    await time.pass(0);
    expect(now.answer).toEqual({ index: 5 });
    expect([waitParam({}), waitParam({ wait: '10m' }), waitParam({ wait: '2s' })]).toEqual([300_000, 300_000, 2_000]);
    expect(MAX_WAIT_MS).toBe(300_000);
  });

  it('ST-150: a clock that is set back does not make the wait longer', async () => {
    let setMs = 0;
    const queries = new BlockingQueries(watches, { nowMs: () => time.nowMs() + setMs }, () => 0);
    const options = { minIndex: 5, waitMs: 10_000, signal: new AbortController().signal };
    let answered: unknown;
    void queries.runQuery(options, WATCHED, async () => ({ index })).then((answer) => (answered = answer));
    await time.pass(1_000);
    setMs = -3_600_000;
    watches.wakeAll();
    await time.pass(10_000);
    expect(answered).toEqual({ index: 5 });
  });

  it('API-49, ST-150: a random part of up to a sixteenth is added to the wait', async () => {
    const [least, most] = [asked(5, 16_000, 0), asked(5, 16_000, 0.999_999)];
    await time.pass(16_000);
    expect([least.answer, most.answer]).toEqual([{ index: 5 }, undefined]);
    await time.pass(1_000);
    expect(most.answer).toEqual({ index: 5 });
    expect(watches.size).toBe(0);
  });

  it('ST-153: only a change of what it watches runs it again', async () => {
    const waiting = asked(5);
    await time.pass(10);
    watches.wake([['jobs', 'default/web2']]);
    watches.wake([['evals', 'default/web']]);
    await time.pass(10);
    expect(ran).toBe(1);
    index = 6;
    watches.wake([['jobs', 'default/web']]);
    await time.pass(10);
    expect(waiting.answer).toEqual({ index: 6 });
  });

  it('ST-156: an index above what there is still waits for one above it', async () => {
    const waiting = asked(100);
    index = 50;
    watches.wake(WATCHED);
    await time.pass(10);
    expect([ran, waiting.answer]).toEqual([2, undefined]);
    index = 101;
    watches.wake(WATCHED);
    await time.pass(10);
    expect(waiting.answer).toEqual({ index: 101 });
  });
});
