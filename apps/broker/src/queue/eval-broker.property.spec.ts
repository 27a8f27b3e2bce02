import { SimulatedTime, type Evaluation } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { FAILED_QUEUE } from './tracked-evaluations.js';
import { NACK_TIMEOUT_MS } from './unacked-deliveries.js';
import { EvalBroker } from './eval-broker.js';

const STEPS = 1_200;
const JOBS = 6;

/** Deterministic from its seed. */
function randomOf(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % n;
  };
}

/** What must be true whatever happened, against what the test itself remembers. */
class Model {
  readonly rows = new Map<string, Evaluation>();
  readonly outstanding = new Map<string, { token: string; jobId: string }>();
  readonly time = new SimulatedTime();
  private tokens = 0;
  readonly broker = new EvalBroker({
    clock: this.time,
    timers: this.time,
    newId: () => `t${++this.tokens}`,
    random: () => 0.3,
    rows: { evaluation: (id) => this.rows.get(id), highestEvalIndex: () => 0 },
  });

  check(): void {
    const { byScheduler, ...stats } = this.broker.stats();
    // EB-107, EB-108
    for (const n of Object.values(stats)) expect(n).toBeGreaterThanOrEqual(0);
    const sums = Object.values(byScheduler);
    expect(sums.reduce((sum, q) => sum + q.ready, 0)).toBe(stats.totalReady);
    expect(sums.reduce((sum, q) => sum + q.unacked, 0)).toBe(stats.totalUnacked);
    // EB-323: what the broker says is out is what was handed out and not given back
    const out = [...this.outstanding].filter(([id, { token }]) => this.broker.deliveries.tokenOf(id) === token);
    expect(stats.totalUnacked).toBe(out.length);
    const jobs = out.map(([, { jobId }]) => jobId);
    expect(new Set(jobs).size).toBe(jobs.length);
    // EB-325: nothing is lost, nothing is counted twice
    const { totalReady, totalUnacked, totalPending, totalWaiting, totalCancelable } = stats;
    expect(totalReady + totalUnacked + totalPending + totalWaiting + totalCancelable).toBe(
      this.broker.isEnabled ? this.rows.size : 0,
    );
  }
}

async function play(seed: number): Promise<void> {
  const pick = randomOf(seed);
  const model = new Model();
  const { broker, rows, outstanding, time } = model;
  const restore = (): void => {
    broker.setEnabled(true);
    for (const evaluation of rows.values()) broker.enqueue(evaluation);
  };
  const dequeue = async (types: string[]): Promise<void> => {
    const answer = broker.dequeue(types, 1);
    time.advance(1);
    const delivery = await answer;
    if (!delivery) return;
    const { evaluation, token } = delivery;
    outstanding.set(evaluation.ID, { token, jobId: evaluation.JobID });
  };
  const anyOut = (): [string, string] | undefined => {
    const live = [...outstanding].filter(([id, { token }]) => broker.deliveries.tokenOf(id) === token);
    const chosen = live[pick(Math.max(1, live.length))];
    return chosen && [chosen[0], chosen[1].token];
  };
  broker.setEnabled(true);
  for (let step = 0; step < STEPS; step++) {
    switch (pick(12)) {
      case 0:
      case 1:
      case 2: {
        if (!broker.isEnabled) break;
        const index = step + 1;
        const evaluation = fixtures.anEval({
          JobID: `job-${pick(JOBS)}`,
          Priority: 10 * (1 + pick(5)),
          CreateIndex: index,
          ModifyIndex: index,
          Wait: pick(4) === 0 ? pick(30) * 1e9 : 0,
        });
        rows.set(evaluation.ID, evaluation);
        broker.enqueue(evaluation);
        break;
      }
      case 3:
      case 4:
      case 5:
        await dequeue(['service']);
        break;
      case 6:
        await dequeue([FAILED_QUEUE]);
        break;
      case 7:
      case 8: {
        const [id, token] = anyOut() ?? [];
        if (id === undefined || token === undefined) break;
        broker.ack(id, token);
        rows.delete(id);
        expect(() => broker.ack(id, token)).toThrow(); // EB-324
        break;
      }
      case 9: {
        const [id, token] = anyOut() ?? [];
        if (id === undefined || token === undefined) break;
        broker.nack(id, token);
        expect(() => broker.deliveries.evaluationOf(id, token)).toThrow(); // EB-327
        break;
      }
      case 10: {
        time.advance(pick(70_000));
        const canceled = broker.superseded.takeBatch(pick(3)).map((e) => e.ID);
        broker.superseded.forget(canceled);
        for (const id of canceled) rows.delete(id);
        break;
      }
      default:
        if (pick(20) !== 0) break;
        broker.setEnabled(false);
        model.check();
        restore();
    }
    model.check();
  }
  await drain(model);
}

/** EB-326: with a worker that succeeds, everything ends. */
async function drain({ broker, rows, time }: Model): Promise<void> {
  time.advance(60_000);
  for (let round = 0; rows.size > 0 && round < 10_000; round++) {
    const answer = broker.dequeue(['service', FAILED_QUEUE], 1);
    time.advance(1);
    const delivery = await answer;
    if (delivery) {
      broker.ack(delivery.evaluation.ID, delivery.token);
      rows.delete(delivery.evaluation.ID);
    } else time.advance(60_000);
    const canceled = broker.superseded.takeBatch(100).map((e) => e.ID);
    broker.superseded.forget(canceled);
    for (const id of canceled) rows.delete(id);
  }
  expect(rows.size).toBe(0);
  time.advance(NACK_TIMEOUT_MS); // the one timer of all deliveries may outlive the last of them
  expect(time.armedCount).toBe(0);
}

describe('any sequence of operations', () => {
  for (const seed of [1, 2, 3, 5, 8, 13, 21, 34])
    it(`EB-107, EB-108, EB-323, EB-324, EB-325, EB-326, EB-333: invariants hold, nothing is lost, everything ends (seed ${seed})`, async () => {
      await play(seed);
    });
});
