import { rfc3339FromMs, SimulatedTime, type Evaluation, NotHolderError } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { EvalNotFoundError, NotOutstandingError, StaleTokenError, TokenMismatchError } from './unacked-deliveries.js';
import { FAILED_QUEUE } from './tracked-evaluations.js';
import { type Delivery } from './waiting-dequeues.js';
import { EvalBroker } from './eval-broker.js';

let time: SimulatedTime;
let rows: Map<string, Evaluation>;
let broker: EvalBroker;
let tokens: number;
let chance: () => number;

beforeEach(() => {
  time = new SimulatedTime();
  rows = new Map();
  tokens = 0;
  chance = () => 0;
  broker = new EvalBroker({
    clock: time,
    timers: time,
    newId: () => `token-${++tokens}`,
    random: () => chance(),
    rows: {
      evaluation: (id) => rows.get(id),
      highestEvalIndex: (namespace, jobId) =>
        Math.max(
          0,
          ...[...rows.values()].filter((e) => e.Namespace === namespace && e.JobID === jobId).map((e) => e.ModifyIndex),
        ),
    },
  });
  broker.setEnabled(true);
});

/** A stored evaluation, of a job of its own unless said otherwise. */
function stored(over: Partial<Evaluation> = {}): Evaluation {
  const evaluation = fixtures.anEval({ JobID: `job-${rows.size}`, ...over });
  rows.set(evaluation.ID, evaluation);
  return evaluation;
}

function enqueued(over: Partial<Evaluation> = {}): Evaluation {
  const evaluation = stored(over);
  broker.enqueue(evaluation);
  return evaluation;
}

const next = async (types = ['service']): Promise<Delivery> => {
  const delivery = await broker.dequeue(types, 1);
  if (!delivery) throw new Error('nothing was delivered');
  return delivery;
};
const totals = (): number[] => {
  const { totalReady, totalUnacked, totalPending, totalCancelable } = broker.stats();
  return [totalReady, totalUnacked, totalPending, totalCancelable];
};
const nothingLeft = {
  totalReady: 0,
  totalUnacked: 0,
  totalPending: 0,
  totalWaiting: 0,
  totalCancelable: 0,
};

describe('taking in', () => {
  it('EB-32: an id that is tracked already is not taken in again', () => {
    const evaluation = enqueued();
    broker.enqueue(evaluation);
    expect(broker.stats().totalReady).toBe(1);
  });

  it('EB-34: Wait delays from now and wins over WaitUntil', async () => {
    const e = enqueued({ Wait: 5e9, WaitUntil: rfc3339FromMs(time.nowMs() + 60_000) });
    expect(broker.stats()).toMatchObject({ totalReady: 0, totalWaiting: 1 });
    time.advance(4_999);
    expect(broker.stats().totalReady).toBe(0);
    time.advance(1);
    expect((await next()).evaluation.ID).toBe(e.ID);
  });

  it('EB-35: a waiting dequeue gets the best of a batch, not its first', async () => {
    const waiting = broker.dequeue(['service'], 0);
    const batch = [10, 20, 90, 30].map((Priority) => stored({ Priority }));
    broker.enqueueAll(batch.map((evaluation) => ({ evaluation, token: '' })));
    expect((await waiting)?.evaluation.Priority).toBe(90);
  });

  it('EB-39: delayed evaluations come due by time, whatever the order they came in', async () => {
    const due = [3_000, 1_000, 2_000].map((ms) => enqueued({ WaitUntil: rfc3339FromMs(time.nowMs() + ms) }));
    const order: string[] = [];
    for (let i = 0; i < 3; i++) {
      time.advance(1_000);
      order.push((await next()).evaluation.ID);
    }
    expect(order).toEqual([due[1]!.ID, due[2]!.ID, due[0]!.ID]);
  });

  it('EB-40: a WaitUntil in the past is due now', () => {
    enqueued({ WaitUntil: rfc3339FromMs(time.nowMs() - 1) });
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 0 });
  });

  it('EB-42: a wait longer than a JavaScript timer holds works', async () => {
    const hundredDays = 100 * 86_400_000;
    const e = enqueued({ WaitUntil: rfc3339FromMs(time.nowMs() + hundredDays) });
    time.freeze(hundredDays - 1); // not second by second
    expect(broker.stats().totalReady).toBe(0);
    time.advance(1);
    expect((await next()).evaluation.ID).toBe(e.ID);
  });

  it('EB-43: a delayed evaluation does not hold its job', async () => {
    enqueued({ JobID: 'a', Wait: 1e9 });
    const other = enqueued({ JobID: 'a' });
    expect((await next()).evaluation.ID).toBe(other.ID);
  });

  it('EB-45, EB-46: a dropped delayed evaluation never comes; anything else is left alone', () => {
    const delayed = enqueued({ Wait: 1e9 });
    const ready = enqueued({ JobID: 'a' });
    const pending = enqueued({ JobID: 'a' });
    broker.dropDelayed(delayed.ID);
    broker.dropDelayed(ready.ID);
    broker.dropDelayed(pending.ID);
    broker.dropDelayed('unknown');
    time.advance(2_000);
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalPending: 1, totalWaiting: 0 });
    for (const evaluation of [delayed, ready, pending]) broker.enqueue(evaluation);
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalPending: 1, totalWaiting: 1 });
  });
});

describe('order', () => {
  it('EB-48: by priority, then by CreateIndex, whatever the order of insertion', async () => {
    for (let i = 100; i >= 1; i--) enqueued({ CreateIndex: i, Priority: i > 50 ? 90 : 50 });
    const order: number[] = [];
    for (let i = 0; i < 100; i++) order.push((await next()).evaluation.CreateIndex);
    expect(order).toEqual([...range(51, 100), ...range(1, 50)]);
  });

  it('EB-61: the type whose first has the highest priority is served', async () => {
    enqueued({ Type: 'service', Priority: 40 });
    enqueued({ Type: 'batch', Priority: 60 });
    expect((await next(['service', 'batch'])).evaluation.Type).toBe('batch');
  });

  it('EB-62: types of equal priority take turns by chance, none starves', async () => {
    for (let i = 0; i < 500; i++) enqueued({ Type: 'service' });
    for (let i = 0; i < 500; i++) enqueued({ Type: 'batch' });
    let seed = 7;
    chance = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
    let run = 0;
    let longest = 0;
    let before = '';
    for (let i = 0; i < 600; i++) {
      const { Type } = (await next(['service', 'batch'])).evaluation;
      run = Type === before ? run + 1 : 1;
      before = Type;
      longest = Math.max(longest, run);
    }
    expect(longest).toBeLessThan(50);
  });

  it('EB-52, EB-54, SC-315: one at a time per job, whatever the type', async () => {
    const first = enqueued({ JobID: 'a', Type: 'service', CreateIndex: 1 });
    enqueued({ JobID: 'a', Type: 'batch', CreateIndex: 2 });
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalPending: 1 });
    expect((await next(['service', 'batch'])).evaluation.ID).toBe(first.ID);
    expect(await timesOut(broker.dequeue(['service', 'batch'], 10))).toBe(true);
  });

  it('EB-56: the newest is handed out with the latest time that those it supersedes waited for', async () => {
    const dueMs = time.nowMs() + 5_000;
    const WaitUntil = rfc3339FromMs(dueMs);
    const first = enqueued({ JobID: 'web' });
    const held = await next();
    enqueued({ JobID: 'web', ModifyIndex: 2, WaitUntil });
    const newest = enqueued({ JobID: 'web', ModifyIndex: 3 });
    time.advance(5_000);
    broker.ack(first.ID, held.token);
    expect([held.dueNs, await next()]).toMatchObject([0, { evaluation: newest, dueNs: dueMs * 1e6 }]);
  });

  it('EB-53, EB-56: the worked example of two namespaces, step by step', async () => {
    const index = { n: 0 };
    const of = (Namespace: string): Evaluation => {
      index.n++;
      return enqueued({ Namespace, JobID: 'example', CreateIndex: index.n, ModifyIndex: index.n });
    };
    for (let i = 0; i < 4; i++) of('one');
    for (let i = 0; i < 3; i++) of('two');
    expect(totals()).toEqual([2, 0, 5, 0]);
    const steps: [number, number[], number[]][] = [
      [1, [1, 1, 5, 0], [2, 0, 2, 2]],
      [4, [1, 1, 2, 2], [1, 0, 2, 2]],
      [5, [0, 1, 2, 2], [1, 0, 0, 3]],
      [7, [0, 1, 0, 3], [0, 0, 0, 3]],
    ];
    for (const [given, afterDequeue, afterAck] of steps) {
      const delivery = await next();
      expect(delivery.evaluation.CreateIndex).toBe(given);
      expect(totals()).toEqual(afterDequeue);
      broker.ack(delivery.evaluation.ID, delivery.token);
      expect(totals()).toEqual(afterAck);
    }
  });
});

describe('dequeue', () => {
  it('EB-63: with nothing ready it waits out the timeout and gives nothing', async () => {
    let answer: unknown = 'waiting';
    void broker.dequeue(['service'], 500).then((d) => (answer = d));
    time.advance(499);
    await settled();
    expect(answer).toBe('waiting');
    time.advance(1);
    await settled();
    expect(answer).toBeNull();
  });

  it('EB-36, EB-70: what becomes ready goes to the dequeue that waited longest, and to that one only', async () => {
    const first = broker.dequeue(['service'], 0);
    const second = broker.dequeue(['service', 'batch'], 0);
    const a = enqueued();
    expect((await first)?.evaluation.ID).toBe(a.ID);
    const b = enqueued();
    expect((await second)?.evaluation.ID).toBe(b.ID);
  });

  it('EB-65: a redelivery has a new token and the old one is dead', async () => {
    const e = enqueued();
    const first = await next();
    broker.nack(e.ID, first.token);
    time.advance(1_000);
    const second = await next();
    expect(second.token).not.toBe(first.token);
    expect(() => broker.ack(e.ID, first.token)).toThrow(TokenMismatchError);
    expect(broker.deliveries.tokenOf(e.ID)).toBe(second.token);
  });

  it('EB-67, EB-68: the wait index is the highest of the evaluations of exactly this job', async () => {
    enqueued({ JobID: 'web', ModifyIndex: 10 });
    stored({ JobID: 'web', ModifyIndex: 30, Status: 'complete' });
    stored({ JobID: 'web-2', ModifyIndex: 99 });
    expect((await next()).waitIndex).toBe(30);
  });

  it('EB-337: the row is delivered as it is now; one that was deleted is dropped and frees its job', async () => {
    const deleted = enqueued({ JobID: 'a', CreateIndex: 1 });
    const behind = enqueued({ JobID: 'a', CreateIndex: 2 });
    rows.delete(deleted.ID);
    rows.set(behind.ID, { ...behind, Status: 'canceled' });
    expect((await next()).evaluation).toMatchObject({ ID: behind.ID, Status: 'canceled' });
    expect(totals()).toEqual([0, 1, 0, 0]);
  });

  it('EB-337: a dequeue that waits gets one evaluation, also when a deleted one was before it', async () => {
    const waiting = [broker.dequeue(['service'], 0), broker.dequeue(['service'], 0)];
    const deleted = fixtures.anEval({ JobID: 'a', CreateIndex: 1 });
    const behind = stored({ JobID: 'a', CreateIndex: 2 });
    const other = stored({ JobID: 'b', CreateIndex: 3 });
    broker.enqueueAll([deleted, behind, other].map((evaluation) => ({ evaluation, token: '' })));
    const ids = (await Promise.all(waiting)).map((d) => d?.evaluation.ID);
    expect(new Set(ids)).toEqual(new Set([behind.ID, other.ID]));
  });
});

describe('ack and nack', () => {
  it('EB-71, EB-107: an ack forgets the evaluation, and nothing is left', async () => {
    const e = enqueued();
    const { token } = await next();
    broker.ack(e.ID, token);
    expect(broker.stats()).toMatchObject(nothingLeft);
    broker.enqueue(e);
    expect(broker.stats().totalReady).toBe(1);
  });

  it('EB-72, EB-73, EB-75: unknown, foreign and second acks fail and change nothing', async () => {
    const e = enqueued();
    expect(() => broker.ack(e.ID, 'x')).toThrow(new EvalNotFoundError(e.ID));
    const { token } = await next();
    expect(() => broker.ack(e.ID, 'x')).toThrow('Token does not match for Evaluation ID');
    expect(totals()).toEqual([0, 1, 0, 0]);
    broker.ack(e.ID, token);
    expect(() => broker.ack(e.ID, token)).toThrow('Evaluation ID not found');
  });

  it('EB-80: a delivery nobody acks is nacked after the nack timeout', async () => {
    enqueued();
    await next();
    time.advance(59_999);
    expect(totals()).toEqual([0, 1, 0, 0]);
    time.advance(1);
    expect(broker.stats()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
  });

  it('EB-81, EB-85: redelivered after 1 s, then after 20 s, then in the failed queue at once', async () => {
    const e = enqueued();
    for (const delay of [1_000, 20_000]) {
      broker.nack(e.ID, (await next()).token);
      time.advance(delay - 1);
      expect(totals()[0]).toBe(0);
      time.advance(1);
    }
    broker.nack(e.ID, (await next()).token);
    expect(broker.stats().byScheduler[FAILED_QUEUE]).toEqual({ ready: 1, unacked: 0 });
    expect(await timesOut(broker.dequeue(['service'], 10))).toBe(true);
  });

  it('EB-86: what the reaper nacks comes back to the failed queue, until it is acked', async () => {
    const e = enqueued();
    await throughToFailed(e);
    for (let i = 0; i < 3; i++) broker.nack(e.ID, (await next([FAILED_QUEUE])).token);
    broker.ack(e.ID, (await next([FAILED_QUEUE])).token);
    expect(broker.stats()).toMatchObject(nothingLeft);
  });

  it('EB-76: an ack of the last allowed delivery is a normal one', async () => {
    const e = enqueued();
    broker.nack(e.ID, (await next()).token);
    time.advance(1_000);
    broker.nack(e.ID, (await next()).token);
    time.advance(20_000);
    broker.ack(e.ID, (await next()).token);
    expect(broker.stats()).toMatchObject(nothingLeft);
  });

  it('EB-44, EB-58: awaiting redelivery holds the job, and a nack promotes nothing', async () => {
    const e = enqueued({ JobID: 'a', CreateIndex: 1 });
    enqueued({ JobID: 'a', CreateIndex: 2 });
    broker.nack(e.ID, (await next()).token);
    expect(totals()).toEqual([0, 0, 1, 0]);
    time.advance(1_000);
    expect((await next()).evaluation.ID).toBe(e.ID);
  });

  it('EB-83: a redelivery comes back by the normal order, not at the end', async () => {
    const e = enqueued({ CreateIndex: 1 });
    enqueued({ CreateIndex: 2 });
    broker.nack(e.ID, (await next()).token);
    time.advance(1_000);
    expect((await next()).evaluation.ID).toBe(e.ID);
  });

  it('EB-338: a superseded evaluation stays tracked until its cancel is committed', async () => {
    const [first, second, third] = [1, 2, 3].map((i) => enqueued({ JobID: 'a', CreateIndex: i, ModifyIndex: i }));
    broker.ack(first!.ID, (await next()).token);
    expect(broker.superseded.takeBatch(10).map((e) => e.ID)).toEqual([second!.ID]);
    broker.enqueue(second!);
    expect(totals()).toEqual([1, 0, 0, 0]);
    broker.superseded.putBack([second!.ID]);
    expect(broker.superseded.size).toBe(1);
    broker.superseded.takeBatch(10);
    broker.superseded.forget([second!.ID]);
    broker.enqueue(second!);
    expect(totals()).toEqual([1, 0, 1, 0]);
    expect((await next()).evaluation.ID).toBe(third!.ID);
  });
});

describe('the nack timer', () => {
  it('EB-87: a reset gives the whole timeout again; strangers are refused', async () => {
    const e = enqueued();
    expect(() => broker.deliveries.resetNackTimer(e.ID, 'x')).toThrow(NotOutstandingError);
    const { token } = await next();
    expect(() => broker.deliveries.resetNackTimer(e.ID, 'x')).toThrow(StaleTokenError);
    time.advance(50_000);
    broker.deliveries.resetNackTimer(e.ID, token);
    time.advance(50_000);
    expect(totals()).toEqual([0, 1, 0, 0]);
  });

  it('EB-88, EB-89, EB-90: paused it never fires, resumed it runs in full, a late resume is ignored', async () => {
    const e = enqueued();
    const { token } = await next();
    time.advance(20_000);
    broker.deliveries.beginPlan(e.ID, token);
    time.advance(600_000);
    broker.deliveries.endPlan(e.ID, token);
    time.advance(59_999);
    expect(totals()).toEqual([0, 1, 0, 0]);
    time.advance(1);
    expect(totals()).toEqual([0, 0, 0, 0]);
    broker.deliveries.endPlan(e.ID, token);
  });

  it('EB-329, EB-327: given back while plans of it are applied, it comes again when the last one is answered', async () => {
    const e = enqueued();
    const { token } = await next();
    broker.deliveries.beginPlan(e.ID, token);
    broker.deliveries.beginPlan(e.ID, token);
    broker.nack(e.ID, token);
    time.advance(600_000);
    expect(totals()).toEqual([0, 1, 0, 0]);
    broker.deliveries.endPlan(e.ID, token);
    expect(totals()).toEqual([0, 1, 0, 0]);
    rows.set(e.ID, { ...e, ModifyIndex: 514 }); // by its plan
    broker.deliveries.endPlan(e.ID, token);
    expect(() => broker.deliveries.evaluationOf(e.ID, token)).toThrow(NotOutstandingError);
    time.advance(1_000);
    expect(await next()).toMatchObject({ evaluation: { ID: e.ID }, waitIndex: 514 });
  });
});

describe('requeue of an outstanding evaluation', () => {
  it('EB-91, EB-92: remembered under its token, it comes in anew after the ack', async () => {
    const e = enqueued();
    const { token } = await next();
    broker.enqueue(e, token);
    expect(totals()).toEqual([0, 1, 0, 0]);
    broker.ack(e.ID, token);
    expect(totals()).toEqual([1, 0, 0, 0]);
    broker.ack(e.ID, (await next()).token);
    broker.enqueue(e, 'gone');
    expect(totals()).toEqual([1, 0, 0, 0]);
  });

  it('EB-84, EB-93: a nack discards it, and another token is ignored', async () => {
    const e = enqueued();
    const { token } = await next();
    broker.enqueue(e, 'other');
    broker.enqueue(e, token);
    broker.nack(e.ID, token);
    time.advance(1_000);
    broker.ack(e.ID, (await next()).token);
    expect(broker.stats()).toMatchObject(nothingLeft);
  });
});

describe('disabled', () => {
  it('EB-111, EB-112, ST-12: a new or disabled broker takes in nothing', () => {
    broker.setEnabled(false);
    enqueued();
    enqueued({ Wait: 1e9 });
    enqueued({ WaitUntil: rfc3339FromMs(time.nowMs() + 1_000) });
    expect(broker.stats()).toMatchObject(nothingLeft);
    expect(time.armedCount).toBe(0);
  });

  it.each<[string, (evaluations: Evaluation[]) => void]>([
    ['a batch', (evaluations) => broker.enqueueAll(evaluations.map((evaluation) => ({ evaluation, token: '' })))],
    ['what is restored', (evaluations) => broker.restore(evaluations)],
  ])('EB-112: nor %s while it is disabled', (_, takeIn) => {
    const evaluations = [stored(), stored({ Wait: 1e9 })];
    broker.setEnabled(false);
    takeIn(evaluations);
    expect(broker.stats()).toMatchObject(nothingLeft);
    expect(time.armedCount).toBe(0);
    broker.setEnabled(true);
    takeIn(evaluations);
    expect(broker.stats()).toMatchObject({ totalReady: 1, totalWaiting: 1 });
  });

  it('EB-109, EB-114, EB-118: disabling flushes everything, stops all timers and ends deliveries', async () => {
    const e = enqueued({ JobID: 'a' });
    enqueued({ JobID: 'a' });
    enqueued({ Wait: 1e9 });
    const { token } = await next();
    broker.setEnabled(false);
    expect(broker.stats()).toEqual({ ...nothingLeft, byScheduler: {} });
    expect(time.armedCount).toBe(0);
    expect(() => broker.ack(e.ID, token)).toThrow('Evaluation ID not found');
    expect(() => broker.deliveries.evaluationOf(e.ID, token)).toThrow('evaluation is not outstanding');
  });

  it('EB-116: a dequeue that waits when it is disabled ends at once', async () => {
    const waiting = broker.dequeue(['service'], 0);
    broker.setEnabled(false);
    await expect(waiting).rejects.toThrow(NotHolderError);
  });

  it('EB-117: a dequeue that comes while disabled waits for the change of mode, then gives nothing', async () => {
    broker.setEnabled(false);
    const waiting = broker.dequeue(['service'], 0);
    broker.setEnabled(true);
    expect(await waiting).toBeNull();
  });

  it('EB-121, EB-122: after any flapping one generation is left, and it alone delivers', async () => {
    const e = stored({ Wait: 1e9 });
    for (let i = 0; i < 5; i++) {
      broker.enqueue(e);
      broker.setEnabled(false);
      broker.setEnabled(true);
    }
    broker.enqueue(e);
    expect(time.armedCount).toBe(2); // and one for looking at the clock
    time.advance(1_000);
    expect((await next()).evaluation.ID).toBe(e.ID);
    expect(await timesOut(broker.dequeue(['service'], 10))).toBe(true);
  });
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function timesOut(dequeue: Promise<Delivery | null>): Promise<boolean> {
  time.advance(10);
  return (await dequeue) === null;
}

async function throughToFailed(e: Evaluation): Promise<void> {
  for (let i = 0; i < 3; i++) {
    broker.nack(e.ID, (await next()).token);
    time.advance(20_000);
  }
}
