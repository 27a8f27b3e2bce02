import { FakeTime } from '@waybill/model';
import { beforeEach, describe, expect, it } from 'vitest';
import { StartSteps, STEP_LIMIT_MS, STEP_LOG_MS, STEP_RETRY_MS } from './start-steps.js';

let time: FakeTime;
let lines: unknown[];
let steps: StartSteps;
beforeEach(() => {
  time = new FakeTime();
  lines = [];
  const log = (text: string, fields?: Record<string, unknown>) => void lines.push([text, fields]);
  const logger = { info: log, warn: log };
  steps = new StartSteps({ monotonic: time, timers: time, logger });
});

/** A step that ends when it is told to. */
function heldStep(name: string, options?: { readonly hasLimit: boolean }): { end: () => void; ended: Promise<void> } {
  let end = (): void => {};
  const ended = steps.during(name, () => new Promise<void>((resolve) => (end = resolve)), options);
  return { end: () => end(), ended };
}

it('a step is named while it is in progress, beside others, and its result is passed on', async () => {
  const outer = heldStep('opening the log');
  const inner = heldStep('connecting to NATS');
  expect(steps.names).toEqual(['opening the log', 'connecting to NATS']);
  inner.end();
  await inner.ended;
  expect(steps.names).toEqual(['opening the log']);
  expect(await steps.during('counting', async () => 7)).toBe(7);
  outer.end();
  await outer.ended;
  expect([steps.names, time.pending]).toEqual([[], 0]);
});

it('a step that fails is over, and its error is passed on', async () => {
  await expect(steps.during('connecting', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect([steps.names, time.pending]).toEqual([[], 0]);
});

it('a step that takes long is logged again and again, with how long it has taken', async () => {
  const step = heldStep('connecting to NATS');
  await time.pass(STEP_LOG_MS - 1);
  expect(lines).toEqual([]);
  await time.pass(STEP_LOG_MS + 1);
  expect(lines).toEqual([
    ['still connecting to NATS', { seconds: 10 }],
    ['still connecting to NATS', { seconds: 20 }],
  ]);
  step.end();
});

it('a step is stuck when its limit is over, unless it waits for a person', async () => {
  const waiting = heldStep('waiting until an operator decides', { hasLimit: false });
  const loading = heldStep('loading the state');
  await time.pass(STEP_LIMIT_MS);
  expect(steps.isStuck).toBe(false);
  await time.pass(1);
  expect(steps.isStuck).toBe(true);
  loading.end();
  await loading.ended;
  expect(steps.isStuck).toBe(false);
  waiting.end();
});

describe('a step that waits for what is not there yet', () => {
  const refused = () =>
    new Error('refused', { cause: new AggregateError([new Error('connect ECONNREFUSED ::1:5432')]) });
  /** Fails with these one after the other, then succeeds. */
  function failing(...errors: Error[]): Promise<string> {
    const step = async () => {
      const error = errors.shift();
      if (error) throw error;
      return 'done';
    };
    return steps.untilDone('connecting', step, (error) => (error as Error).message !== 'no such setting');
  }

  it('is tried again until it succeeds, says why with its name, and logs each reason once', async () => {
    const result = failing(refused(), refused(), new Error('starting up'));
    await time.pass(0);
    expect(steps.names).toEqual(['connecting: refused: connect ECONNREFUSED ::1:5432']);
    await time.pass(2 * STEP_RETRY_MS);
    expect(steps.names).toEqual(['connecting: starting up']);
    await time.pass(STEP_RETRY_MS);
    expect(await result).toBe('done');
    expect(lines.map((line) => (line as string[])[0])).toEqual([
      'waiting, connecting: refused: connect ECONNREFUSED ::1:5432',
      'waiting, connecting: starting up',
    ]);
    expect([steps.names, time.pending]).toEqual([[], 0]);
  });

  it('is stuck only by one attempt, however long all of them take, and goes on to be logged', async () => {
    const attempts = Math.ceil((2 * STEP_LIMIT_MS) / STEP_RETRY_MS);
    const result = failing(...Array.from({ length: attempts }, () => new Error('refused')));
    await time.pass(STEP_LIMIT_MS + STEP_RETRY_MS);
    expect(steps.isStuck).toBe(false);
    expect(lines.at(-1)).toEqual(['still connecting', { seconds: STEP_LIMIT_MS / 1_000, reason: 'refused' }]);
    await time.pass(STEP_LIMIT_MS);
    expect(await result).toBe('done');
  });

  it('is over with an error that no waiting helps against', async () => {
    await expect(failing(new Error('no such setting'))).rejects.toThrow('no such setting');
    expect([lines, time.pending]).toEqual([[], 0]);
  });
});
