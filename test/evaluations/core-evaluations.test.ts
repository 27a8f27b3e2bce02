import { coreEvaluation, nsFromMs, SimulatedTime, type Evaluation } from '@waybill/model';
import { ack, dequeue, forceGc, MAX_REAPED_IDS, nack, reap, type DequeueResponse, type Reap } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from '../support/local-control-plane.js';

const HOUR_MS = 3_600_000;
/** What the dequeue of a worker waits. */
const DEQUEUE_MS = 500;

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
/** What this term proves its housekeeping with. */
const leaderAclOf = async (): Promise<string> => {
  await plane.ask(forceGc, null);
  const { Eval, Token } = await dequeueCore();
  await plane.ask(ack, { EvalID: Eval!.ID, Token });
  return Eval!.LeaderACL;
};
const dequeueCore = async () => {
  const asking = plane.ask(dequeue, { Schedulers: ['_core'], TimeoutMs: 1, SchedulerVersion: 1 });
  time.advance(1);
  return asking;
};

describe('core evaluations', () => {
  it('GC-2, GC-12, EB-146, EB-149, EB-152: every five minutes what ended an hour ago is removed, with nothing written of the work order', async () => {
    const old = ended(HOUR_MS);
    const young = ended(0);
    await commit(old, young, fixtures.anEval({ JobID: 'waits', Wait: 10 * HOUR_MS * 1e6 }));
    plane.addWorkers(1);
    time.advance(5 * 60_000);
    await settled();
    // One after the other, beside what else there is to do: the next one is asked for with the next dequeue.
    for (let left = plane.broker.stats()['totalReady'] ?? 0; left > 0; left--) {
      time.advance(DEQUEUE_MS);
      await settled();
    }
    expect(stored()).not.toContain(old.ID);
    expect(stored()).toHaveLength(2);
    expect(deletions()).toHaveLength(1);
    expect(deletions()[0]!.txn).toMatchObject({ actor: { Kind: 'role', Name: 'broker' }, fence: { role: 'broker' } });
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0, totalPending: 0 });
    const ofCore = plane.state.history.filter(({ txn }) => JSON.stringify(txn.payload).includes('_core'));
    expect(ofCore).toEqual([]);
  });

  it('GC-5, GC-112, EB-147: forced, it is answered at once and collects what just ended; paused, nothing comes of it', async () => {
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

  it('GC-4, GC-113, EB-148: forced twice while one runs, the second waits; forced thrice, one of them is enough', async () => {
    for (let i = 0; i < 4; i++) await plane.ask(forceGc, null);
    const { Eval, Token } = await dequeueCore();
    expect((await dequeueCore()).Eval).toBeNull();
    await plane.ask(ack, { EvalID: Eval!.ID, Token });
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1, totalPending: 0, totalCancelable: 0 });
  });

  it('GC-6, EB-150: an unknown task is nacked, and at the limit dropped', async () => {
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

  it('GC-92, EB-153: in requests of a limited size', async () => {
    const many = Array.from({ length: 2_010 }, () => ended(HOUR_MS));
    await commit(...many);
    plane.addWorkers(1);
    await plane.ask(forceGc, null);
    await settled();
    expect(stored()).toEqual([]);
    const sizes = deletions().map(({ txn }) => (txn.type === 'EvalDelete' ? txn.payload.EvalIDs.length : 0));
    expect(sizes).toEqual([1_000, 1_000, 10]);
  });

  it('EB-153, EB-327: more than one request may hold is refused, as is a delivery that is over', async () => {
    const done = ended(HOUR_MS);
    await commit(done);
    await plane.ask(forceGc, null);
    const { Eval, Token } = await dequeueCore();
    const found: Reap = { Kind: 'evaluations', EvalIDs: [done.ID], AllocIDs: [] };
    const asking = { EvalID: Eval!.ID, Token, Reap: found, ScanIndex: plane.state.appliedIndex };
    const AllocIDs = Array.from({ length: MAX_REAPED_IDS }, (_, n) => `alloc-${n}`);
    await expect(plane.ask(reap, { ...asking, Reap: { ...found, AllocIDs } })).rejects.toThrow('at most 7281');
    await expect(plane.ask(reap, { ...asking, Token: 'another' })).rejects.toThrow('token does not match');
    await plane.ask(nack, { EvalID: Eval!.ID, Token });
    await expect(plane.ask(reap, asking)).rejects.toThrow('evaluation is not outstanding');
    expect(stored()).toEqual([done.ID]);
  });

  it('GC-9, race 7: a pause of three intervals leaves no burst behind; the next interval brings one of each', async () => {
    const pause = (PauseEvalBroker: boolean) =>
      plane.write('SchedulerConfig', {
        Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker },
        CAS: false,
        ModifyIndex: 0,
      });
    await pause(true);
    for (let tick = 0; tick < 3; tick++) time.advance(5 * 60_000);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalPending: 0, totalWaiting: 0 });
    await pause(false);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalPending: 0 });
    time.advance(5 * 60_000);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 11, totalPending: 0 });
  });

  it('GC-6, GC-7, race 18: with an unknown credential it is delivered three times, then gone without a trace', async () => {
    const done = ended(HOUR_MS);
    await commit(done);
    const core = coreEvaluation('force-gc', { id: 'foreign', index: 0, nowNs: 0, leaderAcl: 'unknown' });
    plane.broker.evals.enqueue(core);
    let deliveries = 0;
    plane.around = async (call, _request, carryOut) => {
      const answer = await carryOut();
      if (call === 'broker.dequeue' && (answer as DequeueResponse).Eval?.ID === 'foreign') deliveries += 1;
      return answer;
    };
    plane.addWorkers(1);
    const before = plane.state.appliedIndex;
    for (const delayMs of [0, 1_000, 20_000, 60_000]) {
      time.advance(delayMs);
      await settled();
    }
    expect(deliveries).toBe(3);
    expect(plane.state.appliedIndex).toBe(before);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0, totalWaiting: 0, totalPending: 0 });
    expect(stored()).toEqual([done.ID]);
  });

  it('GC-2, GC-7, GC-134, race 6: the work order of a term that is over removes nothing and does not come back', async () => {
    const done = ended(HOUR_MS);
    await commit(done);
    await plane.ask(forceGc, null);
    const { Eval, Token } = await dequeueCore();
    await plane.broker.stop();
    await plane.takeOver();
    const Reap: Reap = { Kind: 'evaluations', EvalIDs: [done.ID], AllocIDs: [] };
    const asking = { EvalID: Eval!.ID, Token, Reap, ScanIndex: plane.state.appliedIndex };
    await expect(plane.ask(reap, asking)).rejects.toThrow('evaluation is not outstanding');
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalPending: 0, totalUnacked: 0 });
    expect(stored()).toEqual([done.ID]);
    await plane.ask(forceGc, null);
    plane.addWorkers(1);
    await settled();
    expect(stored()).toEqual([]);
  });

  it('GC-134: a deletion of a holder whose term is over is void, however late it arrives', async () => {
    const done = ended(HOUR_MS);
    await commit(done);
    await plane.ask(forceGc, null);
    plane.addWorkers(1);
    const propose = plane.state.propose.bind(plane.state);
    plane.state.propose = async (draft, ...rest) => {
      if (draft.type === 'EvalDelete')
        await plane.write('LeaseAcquired', { Role: 'broker', Epoch: 2, Holder: 'another' });
      return propose(draft, ...rest);
    };
    await settled();
    expect(deletions()[0]!.verdict.kind).toBe('void');
    expect(stored()).toEqual([done.ID]);
  });

  it('GC-11: a run whose delivery was taken from it is run again, and nothing is removed twice', async () => {
    const done = [ended(HOUR_MS), ended(HOUR_MS)];
    await commit(...done);
    await plane.ask(forceGc, null);
    const { Eval, Token } = await dequeueCore();
    const Reap: Reap = { Kind: 'evaluations', EvalIDs: [done[0]!.ID], AllocIDs: [] };
    await plane.ask(reap, { EvalID: Eval!.ID, Token, Reap, ScanIndex: plane.state.appliedIndex });
    plane.addWorkers(1);
    time.advance(60_000); // the nack timeout
    await settled();
    time.advance(1_000);
    await settled();
    expect(stored()).toEqual([]);
    expect(deletions().map(({ txn }) => (txn.type === 'EvalDelete' ? txn.payload.EvalIDs : []))).toEqual([
      [done[0]!.ID],
      [done[1]!.ID],
    ]);
  });

  it('GC-41, GC-87: over the calls of the broker, a job goes with all that is its own', async () => {
    const { job, evaluation } = fixtures.aRegisteredJob(plane.state.machine);
    const over = { ...evaluation, Status: 'complete' as const, ModifyTime: nsFromMs(time.nowMs() - HOUR_MS) };
    await commit(over);
    const stop = { JobID: job.ID, Purge: false, NoShutdownDelay: false, SubmitTime: 1, Eval: null, TrackedVersions: 6 };
    await plane.write('JobDeregister', stop);
    await plane.ask(forceGc, null);
    plane.addWorkers(1);
    await settled();
    const { jobs, job_version, job_summary, evals } = plane.state.tables;
    expect([jobs.size, job_version.size, job_summary.size, evals.size]).toEqual([0, 0, 0, 0]);
    const types = plane.state.history.filter(({ txn }) => txn.actor.Name === 'broker').map(({ txn }) => txn.type);
    expect(types.slice(-2)).toEqual(['EvalDelete', 'JobBatchDeregister']);
  });

  it('GC-5, GC-132: a copy of the state that is behind the work order makes it wait, and looks at nothing old', async () => {
    const done = ended(HOUR_MS);
    await commit(done);
    const leaderAcl = await leaderAclOf();
    const index = plane.state.appliedIndex + 1;
    plane.broker.evals.enqueue(coreEvaluation('force-gc', { id: 'ahead', index, nowNs: 0, leaderAcl }));
    plane.addWorkers(1);
    await settled();
    expect(stored()).toEqual([done.ID]);
    const later = ended(HOUR_MS);
    await commit(later);
    time.advance(1_000);
    await settled();
    expect(stored()).toEqual([]);
  });
});
