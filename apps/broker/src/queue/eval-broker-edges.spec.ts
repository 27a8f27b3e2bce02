import { CORE_TYPE, rfc3339FromMs, SimulatedTime, type Evaluation } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { FAILED_QUEUE } from './tracked-evaluations.js';
import { type Delivery } from './waiting-dequeues.js';
import { EvalBroker } from './eval-broker.js';
import { MAX_TIMED } from './tracked-evaluations.js';
import { labelsOf, type Meter } from '../meter.js';

let time: SimulatedTime;
let rows: Map<string, Evaluation>;
let observed: { timer: string; value: number; labels: Readonly<Record<string, string>> }[];
let highestEvalIndex: () => number;
let broker: EvalBroker;
let tokens: number;

const meter: Meter = {
  observe: () => {},
  observeEval: (timer, value, evaluation) => observed.push({ timer, value, labels: labelsOf(evaluation) }),
  nodeRejected: () => {},
};

beforeEach(() => {
  time = new SimulatedTime();
  rows = new Map();
  observed = [];
  tokens = 0;
  highestEvalIndex = () => 0;
  broker = new EvalBroker({
    clock: time,
    timers: time,
    newId: () => `token-${++tokens}`,
    random: () => 0,
    rows: { evaluation: (id) => rows.get(id), highestEvalIndex: () => highestEvalIndex() },
    meter,
  });
  broker.setEnabled(true);
});

function enqueued(over: Partial<Evaluation> = {}): Evaluation {
  const evaluation = fixtures.anEval({ JobID: `job-${rows.size}`, ...over });
  rows.set(evaluation.ID, evaluation);
  broker.enqueue(evaluation);
  return evaluation;
}
const next = async (types = ['service']): Promise<Delivery> => {
  const delivery = await broker.dequeue(types, 1);
  if (!delivery) throw new Error('nothing was delivered');
  return delivery;
};
const ackNext = async (types?: string[]): Promise<string> => {
  const { evaluation, token } = await next(types);
  broker.ack(evaluation.ID, token);
  return evaluation.ID;
};
const nackNext = async (types?: string[]): Promise<string> => {
  const { evaluation, token } = await next(types);
  broker.nack(evaluation.ID, token);
  return evaluation.ID;
};

describe('order', () => {
  it('EB-37: each type has a queue of its own', async () => {
    const batch = enqueued({ Type: 'batch', Priority: 10 });
    const service = enqueued({ Priority: 90 });
    expect((await next(['batch'])).evaluation.ID).toBe(batch.ID);
    expect((await next()).evaluation.ID).toBe(service.ID);
    expect(broker.stats().byScheduler).toEqual({
      batch: { ready: 0, unacked: 1 },
      service: { ready: 0, unacked: 1 },
    });
  });

  it('EB-49: those of one transaction come in one order, whatever the order of insertion', async () => {
    const evals = Array.from({ length: 6 }, (_, i) => fixtures.anEval({ JobID: `j${i}`, CreateIndex: 5 }));
    for (const e of evals) rows.set(e.ID, e);
    const orders: string[][] = [];
    for (const list of [evals, evals.toReversed()]) {
      broker.enqueueAll(list.map((evaluation) => ({ evaluation, token: '' })));
      const order: string[] = [];
      for (const _ of list) order.push(await ackNext());
      orders.push(order);
    }
    expect(orders[0]).toEqual(orders[1]);
  });

  it('EB-50: of those behind their job the one with the highest priority is next, then the newest', async () => {
    enqueued({ JobID: 'a', ModifyIndex: 1 });
    const wanted = enqueued({ JobID: 'a', Priority: 70, ModifyIndex: 3 });
    enqueued({ JobID: 'a', Priority: 70, ModifyIndex: 2 });
    enqueued({ JobID: 'a', Priority: 50, ModifyIndex: 9 });
    await ackNext();
    expect((await next()).evaluation.ID).toBe(wanted.ID);
  });

  it('EB-51: low priority waits as long as higher ones keep coming', async () => {
    const low = enqueued({ Priority: 1, CreateIndex: 1 });
    for (let i = 0; i < 50; i++) {
      const high = enqueued({ Priority: 2, CreateIndex: 100 + i });
      time.advance(60_000);
      expect(await ackNext()).toBe(high.ID);
    }
    expect(await ackNext()).toBe(low.ID);
  });

  it('EB-55: the one that holds its job is queued again, not behind itself', async () => {
    enqueued({ JobID: 'a' });
    enqueued({ JobID: 'a' });
    await nackNext();
    time.advance(1_000);
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalPending: 1, totalWaiting: 0 });
  });
});

describe('waiting for a time', () => {
  it('EB-38: what waits is counted as waiting only, and shown if it waits for a WaitUntil', async () => {
    enqueued({ Wait: 5e9 });
    const until = enqueued({ WaitUntil: rfc3339FromMs(time.nowMs() + 9_000) });
    expect(broker.stats()).toMatchObject({ totalWaiting: 2, totalReady: 0, totalPending: 0 });
    expect([...broker.delayed.delayed(10)]).toEqual([{ evaluation: until, dueInMs: 9_000 }]);
    const answer = broker.dequeue(['service'], 1_000);
    time.advance(1_000);
    expect(await answer).toBeNull();
  });

  it('EB-41: waits of nothing and less than nothing are due at once, and no timer stays', () => {
    enqueued({ WaitUntil: rfc3339FromMs(time.nowMs() - 1e12) });
    enqueued({ Wait: -5 });
    expect(broker.stats()).toMatchObject({ totalReady: 2, totalWaiting: 0 });
    expect(time.armedCount).toBe(0);
  });

  it('EB-47: a nack leaves the evaluation as it is', async () => {
    const e = enqueued();
    const before = JSON.stringify(e);
    await nackNext();
    expect(JSON.stringify(rows.get(e.ID))).toBe(before);
  });

  it('EB-82: a redelivery delay of nothing makes it ready at once', async () => {
    broker = new EvalBroker(
      {
        clock: time,
        timers: time,
        newId: () => `token-${++tokens}`,
        random: () => 0,
        rows: { evaluation: (id) => rows.get(id), highestEvalIndex: () => 0 },
      },
      { initialNackDelayMs: 0 },
    );
    broker.setEnabled(true);
    enqueued();
    await nackNext();
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 0 });
  });

  it('EB-115: what comes due after the flush finds nothing and counts nothing (F15)', async () => {
    enqueued({ Wait: 1e9 });
    enqueued({ JobID: 'x' });
    await next();
    broker.setEnabled(false);
    broker.setEnabled(true);
    time.advance(120_000);
    expect(broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0, totalPending: 0, totalWaiting: 0 });
  });
});

describe('deliveries', () => {
  it('EB-33, EB-71: what was acked comes in anew with no deliveries behind it', async () => {
    const e = enqueued();
    await nackNext();
    time.advance(1_000);
    await nackNext();
    time.advance(20_000);
    await ackNext();
    broker.enqueue(e);
    await nackNext();
    expect(broker.stats()).toMatchObject({ totalWaiting: 1 });
    time.advance(1_000);
    expect(broker.stats()).toMatchObject({ totalReady: 1 }); // the delay of a first delivery
  });

  it('EB-66: a delivery moves from ready to unacked, in total and per type, and starts its timer', async () => {
    enqueued();
    await next();
    expect(broker.stats()).toMatchObject({
      totalReady: 0,
      totalUnacked: 1,
      byScheduler: { service: { ready: 0, unacked: 1 } },
    });
    time.advance(60_000);
    expect(broker.stats()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
  });

  it('EB-69: without a wait index the delivery is nacked at once and the asker gets the error', async () => {
    enqueued();
    highestEvalIndex = () => {
      throw new Error('no index');
    };
    await expect(broker.dequeue(['service'], 1)).rejects.toThrow('no index');
    expect(broker.stats()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
    const waiting = broker.dequeue(['service'], 5_000);
    const failed = expect(waiting).rejects.toThrow('no index');
    time.advance(1_000);
    await failed;
    expect(broker.stats()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
  });

  it('EB-79: nack keeps the job held and the count, and refuses strangers', async () => {
    const e = enqueued({ JobID: 'a' });
    enqueued({ JobID: 'a' });
    expect(() => broker.nack(e.ID, 'x')).toThrow('Evaluation ID not found');
    const { token } = await next();
    expect(() => broker.nack(e.ID, 'x')).toThrow('Token does not match for Evaluation ID');
    broker.nack(e.ID, token);
    expect(broker.stats()).toMatchObject({ totalWaiting: 1, totalPending: 1, totalReady: 0 });
  });

  it('EB-110: it can be asked who works on an evaluation', async () => {
    const e = enqueued();
    expect(broker.deliveries.tokenOf(e.ID)).toBeUndefined();
    const { token } = await next();
    expect(broker.deliveries.tokenOf(e.ID)).toBe(token);
  });

  it('EB-94: a requeue that was remembered is gone after a flush', async () => {
    const e = enqueued();
    const { token } = await next();
    broker.enqueue(e, token);
    broker.setEnabled(false);
    broker.setEnabled(true);
    expect(broker.stats().totalReady).toBe(0);
    broker.enqueue(e);
    await ackNext();
    expect(broker.stats().totalReady).toBe(0);
  });

  it('EB-99, EB-148: superseded housekeeping is dropped, not canceled', async () => {
    for (let i = 0; i < 4; i++) enqueued({ Namespace: '-', Type: CORE_TYPE, JobID: 'eval-gc' });
    await ackNext([CORE_TYPE]);
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalPending: 0, totalCancelable: 0 });
    await ackNext([CORE_TYPE]);
    expect(broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0 });
  });

  it('EB-145: a housekeeping evaluation is delivered as it was enqueued, without a row', async () => {
    const core = fixtures.anEval({ Namespace: '-', Type: CORE_TYPE, JobID: 'eval-gc', Priority: 32_767 });
    broker.enqueue(core);
    expect((await next([CORE_TYPE])).evaluation).toBe(core);
  });

  it('EB-98: what could not be canceled is there to be canceled again', async () => {
    const evals = Array.from({ length: 4 }, (_, i) => enqueued({ JobID: 'a', ModifyIndex: i }));
    await ackNext();
    const taken = broker.superseded.takeBatch(10).map((e) => e.ID);
    expect(taken).toHaveLength(2);
    broker.superseded.putBack(taken);
    expect(broker.superseded.size).toBe(2);
    expect(new Set(broker.superseded.takeBatch(10).map((e) => e.ID))).toEqual(new Set([evals[1]!.ID, evals[2]!.ID]));
  });

  it('EB-57: the one kept waits for the highest index of its job, so it sees what the canceled ones were about', async () => {
    highestEvalIndex = () => 77;
    enqueued({ JobID: 'a', ModifyIndex: 3 });
    enqueued({ JobID: 'a', ModifyIndex: 77 });
    enqueued({ JobID: 'a', Priority: 90, ModifyIndex: 4 });
    await ackNext();
    expect(await next()).toMatchObject({ evaluation: { ModifyIndex: 4 }, waitIndex: 77 });
  });
});

describe('modes', () => {
  it('EB-113, EB-123: what was dropped while disabled comes back by restoring, each once', () => {
    const kept = enqueued();
    broker.setEnabled(false);
    const dropped = enqueued();
    broker.setEnabled(true);
    broker.restore([kept, dropped]);
    broker.restore([kept, dropped]);
    expect(broker.stats().totalReady).toBe(2);
  });

  it('EB-118: superseded evaluations are flushed with the others', async () => {
    for (let i = 0; i < 3; i++) enqueued({ JobID: 'a' });
    await ackNext();
    expect(broker.stats().totalCancelable).toBe(1);
    broker.setEnabled(false);
    expect([broker.stats().totalCancelable, broker.superseded.takeBatch(10)]).toEqual([0, []]);
  });

  it('EB-36, EB-337: a worker that waits gets what the deletion of a delivered evaluation lets through', async () => {
    const deleted = enqueued({ JobID: 'a' });
    const next = enqueued({ JobID: 'a', Type: 'batch' });
    rows.delete(deleted.ID);
    const waiting = broker.dequeue(['batch'], 1_000);
    expect(broker.dequeueReady(['service'])).toBeUndefined();
    time.advance(1_000);
    expect((await waiting)?.evaluation.ID).toBe(next.ID);
  });

  it('EB-36, EB-123: a worker that waits gets what is restored', async () => {
    const waiting = broker.dequeue(['service'], 1_000);
    const evaluation = fixtures.anEval();
    rows.set(evaluation.ID, evaluation);
    broker.restore([evaluation]);
    time.advance(1_000);
    expect((await waiting)?.evaluation.ID).toBe(evaluation.ID);
  });

  it('EB-120: enabling what is enabled and disabling what is disabled changes nothing', () => {
    enqueued();
    broker.setEnabled(true);
    expect(broker.stats().totalReady).toBe(1);
    broker.setEnabled(false);
    broker.setEnabled(false);
    expect(broker.stats().totalReady).toBe(0);
  });
});

describe('times', () => {
  const valuesOf = (timer: string): number[] => observed.filter((o) => o.timer === timer).map((o) => o.value);

  it('EB-321: wait, processing and response times, with the parent of a dispatched job as label', async () => {
    enqueued({ JobID: 'import/dispatch-1-2', TriggeredBy: 'job-register' });
    time.advance(30);
    const { evaluation, token } = await next();
    time.advance(40);
    broker.ack(evaluation.ID, token);
    expect(observed).toEqual(
      [
        { timer: 'broker.wait_time', value: 30 },
        { timer: 'broker.process_time', value: 40 },
        { timer: 'broker.response_time', value: 70 },
      ].map((o) => ({
        ...o,
        labels: { job: 'import', namespace: 'default', eval_type: 'service', triggered_by: 'job-register' },
      })),
    );
  });

  it('EB-322: a redelivery starts a new wait', async () => {
    enqueued();
    time.advance(5_000);
    await nackNext();
    time.advance(1_000);
    await next();
    expect(valuesOf('broker.wait_time')).toEqual([5_000, 1_000]);
  });

  it('EB-321: of more than 10,000 the rest has no times, and they are forgotten with the evaluations', async () => {
    const batch = Array.from({ length: MAX_TIMED + 5 }, (_, i) => fixtures.anEval({ JobID: `j${i}`, CreateIndex: i }));
    for (const e of batch) rows.set(e.ID, e);
    broker.enqueueAll(batch.map((evaluation) => ({ evaluation, token: '' })));
    for (const _ of batch) await ackNext();
    expect(valuesOf('broker.wait_time')).toHaveLength(MAX_TIMED);
    enqueued();
    await ackNext();
    expect(valuesOf('broker.wait_time')).toHaveLength(MAX_TIMED + 1);
  });

  it('EB-137: restored evaluations have no times', async () => {
    const e = fixtures.anEval();
    rows.set(e.ID, e);
    broker.restore([e]);
    await ackNext();
    expect(observed).toEqual([]);
    enqueued();
    await ackNext();
    expect(valuesOf('broker.wait_time')).toHaveLength(1);
  });

  it('what reached its limit is served from the failed queue, housekeeping too', async () => {
    broker.enqueue(fixtures.anEval({ Namespace: '-', Type: CORE_TYPE, JobID: 'eval-gc' }));
    for (const wait of [1_000, 20_000, 0]) {
      await nackNext([CORE_TYPE]);
      time.advance(wait);
    }
    expect((await next([FAILED_QUEUE])).evaluation.Type).toBe(CORE_TYPE);
  });
});
