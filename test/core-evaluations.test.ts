import { nsFromMs, SimulatedTime, type Evaluation } from '@waybill/model';
import { ack, dequeue, forceGc, MAX_REAPED_IDS, nack, reapEvals } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from './support/local-control-plane.js';

const HOUR_MS = 3_600_000;

let time: SimulatedTime;
let plane: LocalControlPlane;

beforeEach(async () => {
  time = new SimulatedTime();
  plane = new LocalControlPlane(time, time);
  await plane.start(0);
});
afterEach(async () => {
  const stopping = plane.stop();
  time.advance(10_000);
  await stopping;
});

const settled = async (): Promise<void> => {
  for (let i = 0; i < 40; i++) await new Promise((resolve) => setImmediate(resolve));
};
const ended = (ageMs: number, over: Partial<Evaluation> = {}): Evaluation =>
  fixtures.anEval({ Status: 'complete', ModifyTime: nsFromMs(time.nowMs() - ageMs), ...over });
const commit = (...Evals: Evaluation[]) => plane.write('EvalUpdate', { Evals });
const stored = (): string[] => [...plane.state.tables.evals.all()].map((e) => e.ID);
const deletions = () => plane.state.history.filter(({ txn }) => txn.type === 'EvalDelete');
const dequeueCore = async () => {
  const asking = plane.ask(dequeue, { Schedulers: ['_core'], TimeoutMs: 1, SchedulerVersion: 1 });
  time.advance(1);
  return asking;
};

describe('core evaluations', () => {
  it('EB-146, EB-149, EB-152: every five minutes what ended an hour ago is removed, with nothing written of the work order', async () => {
    const old = ended(HOUR_MS);
    const young = ended(0);
    await commit(old, young, fixtures.anEval({ JobID: 'waits', Wait: 10 * HOUR_MS * 1e6 }));
    plane.addWorkers(1);
    time.advance(5 * 60_000);
    await settled();
    expect(stored()).not.toContain(old.ID);
    expect(stored()).toHaveLength(2);
    expect(deletions()).toHaveLength(1);
    expect(deletions()[0]!.txn).toMatchObject({ actor: { Kind: 'role', Name: 'broker' }, fence: { role: 'broker' } });
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0, totalPending: 0 });
    const ofCore = plane.state.history.filter(({ txn }) => JSON.stringify(txn.payload).includes('_core'));
    expect(ofCore).toEqual([]);
  });

  it('EB-147: forced, it is answered at once and collects what just ended; paused, nothing comes of it', async () => {
    const done = ended(1);
    await commit(done);
    await plane.ask(forceGc, null);
    expect(stored()).toEqual([done.ID]);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1 });
    plane.addWorkers(1);
    await settled();
    expect(stored()).toEqual([]);
    const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
    await plane.write('SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
    await plane.ask(forceGc, null);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalPending: 0 });
  });

  it('EB-148: forced twice while one runs, the second waits; forced thrice, one of them is enough', async () => {
    for (let i = 0; i < 4; i++) await plane.ask(forceGc, null);
    const { Eval, Token } = await dequeueCore();
    expect((await dequeueCore()).Eval).toBeNull();
    await plane.ask(ack, { EvalID: Eval!.ID, Token });
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1, totalPending: 0, totalCancelable: 0 });
  });

  it('EB-150: an unknown task is nacked, and at the limit dropped', async () => {
    plane.broker.evals.enqueue(fixtures.anEval({ Namespace: '-', Type: '_core', JobID: 'paint-the-house' }));
    plane.addWorkers(1);
    const before = plane.state.appliedIndex;
    for (const delayMs of [0, 1_000, 20_000]) {
      time.advance(delayMs);
      await settled();
    }
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0, totalWaiting: 0 });
    expect(plane.state.appliedIndex).toBe(before);
  });

  it('EB-153: in requests of a limited size', async () => {
    const many = Array.from({ length: MAX_REAPED_IDS + 10 }, () => ended(HOUR_MS));
    await commit(...many);
    plane.addWorkers(1);
    await plane.ask(forceGc, null);
    await settled();
    expect(stored()).toEqual([]);
    const sizes = deletions().map(({ txn }) => (txn.type === 'EvalDelete' ? txn.payload.EvalIDs.length : 0));
    expect(sizes).toEqual([MAX_REAPED_IDS, 10]);
  });

  it('EB-153, EB-327: more than one request may hold is refused, as is a delivery that is over', async () => {
    const done = ended(HOUR_MS);
    await commit(done);
    await plane.ask(forceGc, null);
    const { Eval, Token } = await dequeueCore();
    const asking = { EvalID: Eval!.ID, Token, EvalIDs: [done.ID], AllocIDs: [], ScanIndex: plane.state.appliedIndex };
    const AllocIDs = Array.from({ length: MAX_REAPED_IDS }, (_, n) => `alloc-${n}`);
    await expect(plane.ask(reapEvals, { ...asking, AllocIDs })).rejects.toThrow('at most 7281');
    await expect(plane.ask(reapEvals, { ...asking, Token: 'another' })).rejects.toThrow('token does not match');
    await plane.ask(nack, { EvalID: Eval!.ID, Token });
    await expect(plane.ask(reapEvals, asking)).rejects.toThrow('evaluation is not outstanding');
    expect(stored()).toEqual([done.ID]);
  });
});
