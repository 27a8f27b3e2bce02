import { rfc3339FromMs, SimulatedTime, type Evaluation } from '@waybill/model';
import { fixtures, readStepTimes } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { FAILED_QUEUE, MAX_FAILED_DELIVERIES, MAX_TIMED, TrackedEvaluations } from './tracked-evaluations.js';
import { INITIAL_NACK_DELAY_MS, SUBSEQUENT_NACK_DELAY_MS } from './unacked-deliveries.js';
import { type Delivery } from './waiting-dequeues.js';
import { EvalBroker } from './eval-broker.js';

let time: SimulatedTime;
let startMs: number;
let rows: Map<string, Evaluation>;
let broker: EvalBroker;

beforeEach(() => {
  time = new SimulatedTime();
  startMs = time.nowMs();
  rows = new Map();
  let tokens = 0;
  broker = new EvalBroker({
    clock: time,
    timers: time,
    newId: () => `token-${++tokens}`,
    random: () => 0,
    rows: { evaluation: (id) => rows.get(id), highestEvalIndex: () => 0 },
  });
  broker.setEnabled(true);
});

function enqueued(over: Partial<Evaluation> = {}): void {
  const evaluation = fixtures.anEval(over);
  rows.set(evaluation.ID, evaluation);
  broker.enqueue(evaluation);
}
function next(type = 'service'): Delivery {
  const delivery = broker.dequeueReady([type]);
  if (!delivery) throw new Error('nothing was delivered');
  return delivery;
}
/** What is told of a delivery, in ms after the start. */
function told({ evaluation, token }: Delivery): (string | number | undefined)[][] {
  const text = broker.deliveries.stepsOf(evaluation.ID, token).takeOf(evaluation.ID);
  const after = (ms: number | undefined) => ms && ms - startMs;
  return readStepTimes(text).flatMap(({ evalId, steps }) => {
    expect(evalId).toBe(evaluation.ID);
    return steps.map(({ name, fromMs, toMs, details }) => [name, after(fromMs), after(toMs), ...details]);
  });
}

describe('what the broker tells of a delivery', () => {
  it('CL-1065: how long it waited for a worker, once', () => {
    enqueued();
    time.advance(40);
    const delivery = next();
    time.advance(5);
    expect(told(delivery)).toEqual([
      ['enqueued', 0, 40],
      ['dequeued', 40, undefined, '1'],
    ]);
    expect(told(delivery)).toEqual([]);
  });

  it('CL-1065: its delay, and its wait behind an earlier evaluation of its job', () => {
    enqueued({ JobID: 'web' });
    enqueued({ JobID: 'web', WaitUntil: rfc3339FromMs(startMs + 1_000) });
    const { evaluation, token } = next();
    time.advance(3_000);
    broker.ack(evaluation.ID, token);
    time.advance(500);
    expect(told(next())).toEqual([
      ['delayed', 0, 1_000],
      ['pending', 1_000, 3_000],
      ['enqueued', 3_000, 3_500],
      ['dequeued', 3_500, undefined, '1'],
    ]);
  });

  it('CL-1065: one that waited blocked came back', () => {
    enqueued({ Status: 'blocked' });
    expect(told(next())[0]).toEqual(['unblocked', 0, 0]);
  });

  it('CL-1065: deliveries that came to nothing, told by the one that did not, and by the reaper', () => {
    enqueued();
    const failed = (): void => {
      const { evaluation, token } = next();
      time.advance(10);
      broker.nack(evaluation.ID, token);
    };
    failed();
    time.advance(INITIAL_NACK_DELAY_MS);
    const again = INITIAL_NACK_DELAY_MS + 10;
    const first = [
      ['enqueued', 0, 0],
      ['dequeued', 0, undefined, '1'],
      ['rejected', 10, undefined],
    ];
    const delivery = next();
    expect(told(delivery)).toEqual([...first, ['dequeued', again, undefined, '2']]);
    broker.nack(delivery.evaluation.ID, delivery.token);
    time.advance(SUBSEQUENT_NACK_DELAY_MS);
    failed();
    expect(told(next(FAILED_QUEUE))).toEqual([
      ...first,
      ['dequeued', again, undefined, '2'],
      ['rejected', again, undefined],
      ['dequeued', again + SUBSEQUENT_NACK_DELAY_MS, undefined, '3'],
      ['rejected', again + SUBSEQUENT_NACK_DELAY_MS + 10, undefined],
    ]);
  });
});

it('EB-321: so many evaluations are measured at once: the end of one that was not makes no room for another', () => {
  const all = new TrackedEvaluations();
  const queue = { type: 'service', levels: [], ready: 0, unacked: 0 };
  const added = (measured = true) => all.add(fixtures.anEval(), queue, 0, measured);
  const first = added();
  while (added().timed);
  const restored = added(false);
  all.forget(restored);
  expect([added().timed, added().timed]).toEqual([false, false]);
  all.forget(first);
  expect([added().timed, added().timed]).toEqual([true, false]);
  all.clear();
  expect([all.get(first.evaluation.ID), added().timed, MAX_TIMED]).toEqual([undefined, true, 10_000]);
});

it('the steps of a delivery tell of the last failed deliveries, not of all that ever failed', () => {
  const evaluation = fixtures.anEval();
  const tracked = new TrackedEvaluations().add(
    evaluation,
    { type: 'service', levels: [], ready: 0, unacked: 0 },
    0,
    true,
  );
  for (let n = 1; n <= MAX_FAILED_DELIVERIES + 2; n++) tracked.recordFailedDelivery({ sinceMs: n } as never, n);
  expect(tracked.failedDeliveries?.map(({ failedMs }) => failedMs)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
});
