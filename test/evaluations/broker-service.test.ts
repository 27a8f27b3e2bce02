import { type Evaluation, type Plan, SimulatedTime } from '@waybill/model';
import { ack, createEval, dequeue, finish, nack, reblockEval, submitPlan, updateEval } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from '../support/local-control-plane.js';

let time: SimulatedTime;
let plane: LocalControlPlane;

beforeEach(async () => {
  time = new SimulatedTime();
  plane = new LocalControlPlane(time, time);
  await plane.start(0);
});

const row = (id: string): Evaluation => {
  const found = plane.state.tables.evals.get(id);
  if (!found) throw new Error(`no evaluation ${id}`);
  return found;
};
const commit = async (...Evals: Evaluation[]): Promise<void> => {
  await plane.write('EvalUpdate', { Evals });
};
const next = async (types = ['service'], Worker?: string) => {
  const asking = plane.ask(dequeue, {
    Schedulers: types,
    TimeoutMs: 1,
    SchedulerVersion: 1,
    ...(Worker && { Worker }),
  });
  time.advance(1);
  return asking;
};
const pause = (PauseEvalBroker: boolean) =>
  plane.write('SchedulerConfig', {
    Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker },
    CAS: false,
    ModifyIndex: 0,
  });
const registerJob = (ID = 'web') => plane.write('JobRegister', fixtures.aRegistration(fixtures.aJob({ ID })));
const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
};
const planFor = (evaluation: Evaluation, EvalToken: string, over: Partial<Plan> = {}): Plan =>
  fixtures.aPlan({
    EvalID: evaluation.ID,
    EvalToken,
    Job: plane.state.tables.jobs.get('default/web') ?? null,
    ...over,
  });

describe('the log drives the broker', () => {
  it('EB-11, EB-12: committed evaluations are routed by status, whatever transaction carried them', async () => {
    const carried = fixtures.anEval();
    await plane.write('JobRegister', fixtures.aRegistration(fixtures.aJob(), { Eval: carried }));
    const blocked = fixtures.anEval({ JobID: 'other', Status: 'blocked' });
    await commit(blocked, fixtures.anEval({ JobID: 'third', Status: 'complete' }));
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1, totalBlocked: 1 });
    expect((await next()).Eval?.ID).toBe(carried.ID);
  });

  it('EB-18: a complete evaluation untracks the blocked one of its job', async () => {
    await commit(fixtures.anEval({ Status: 'blocked' }));
    expect(plane.broker.stats()).toMatchObject({ totalBlocked: 1 });
    await commit(fixtures.anEval({ Status: 'complete' }));
    expect(plane.broker.stats()).toMatchObject({ totalBlocked: 0, totalReady: 0 });
  });

  it('EB-174: a node that becomes ready wakes what waits for its class', async () => {
    const waiting = fixtures.anEval({ Status: 'blocked', ClassEligibility: { 'v1:other': true } });
    await commit(waiting);
    await plane.write('NodeRegister', { Node: fixtures.aNode(), CreateNodePool: false });
    const { Eval } = await next();
    expect(Eval).toMatchObject({ ID: waiting.ID, Status: 'blocked' });
  });

  it('EB-45: an evaluation canceled while it waits for its time never comes', async () => {
    const later = fixtures.anEval({ WaitUntil: new Date(time.nowMs() + 1_000).toISOString() });
    await commit(later);
    await commit({ ...later, Status: 'canceled' });
    expect(plane.broker.stats()).toMatchObject({ totalWaiting: 0 });
  });

  it('EB-95, EB-96: superseded evaluations are committed as canceled after the ack', async () => {
    const evals = [1, 2, 3].map(() => fixtures.anEval());
    for (const e of evals) await commit(e);
    const { Eval, Token } = await next();
    await plane.ask(ack, { EvalID: Eval!.ID, Token });
    await settled();
    expect(evals.map((e) => row(e.ID).Status)).toEqual(['pending', 'canceled', 'pending']);
    expect(row(evals[1]!.ID).StatusDescription).toBe('canceled after more recent eval was processed');
    expect(plane.broker.stats()).toMatchObject({ totalCancelable: 0 });
  });

  it('EB-171: a duplicate blocked evaluation is committed as canceled', async () => {
    const old = fixtures.anEval({ Status: 'blocked' });
    await commit(old);
    await commit(fixtures.anEval({ Status: 'blocked' }));
    await settled();
    expect(row(old.ID)).toMatchObject({
      Status: 'canceled',
      StatusDescription: 'existing blocked evaluation exists for job "web"',
    });
  });
});

describe('the delivery limit', () => {
  const failThrice = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      const { Eval, Token } = await next();
      await plane.ask(nack, { EvalID: Eval!.ID, Token });
      time.advance(20_000);
    }
    await settled();
  };

  it('EB-101, EB-102, EB-103, EB-23: fails with a linked, delayed follow-up while the job exists', async () => {
    await registerJob();
    const e = fixtures.anEval({ JobModifyIndex: 7 });
    await commit(e);
    await failThrice();
    const failed = row(e.ID);
    expect(failed).toMatchObject({ Status: 'failed', StatusDescription: 'evaluation reached delivery limit (3)' });
    const followUp = row(failed.NextEval);
    expect(followUp).toMatchObject({
      Status: 'pending',
      TriggeredBy: 'failed-follow-up',
      PreviousEval: e.ID,
      JobModifyIndex: 7,
    });
    expect(followUp.Wait).toBeGreaterThanOrEqual(60e9);
    expect(followUp.Wait).toBeLessThan(360e9);
    expect(plane.broker.stats()).toMatchObject({ totalWaiting: 1, totalUnacked: 0, totalReady: 0 });
  });

  it('EB-102: without its job it just fails', async () => {
    const e = fixtures.anEval();
    await commit(e);
    await failThrice();
    expect(row(e.ID)).toMatchObject({ Status: 'failed', NextEval: '' });
  });

  it('EB-106: the reaper survives a pause', async () => {
    await pause(true);
    await pause(false);
    const e = fixtures.anEval();
    await commit(e);
    await failThrice();
    expect(row(e.ID).Status).toBe('failed');
  });
});

describe('pause', () => {
  it('EB-124, EB-119, EB-128: paused nothing is handed out, unpaused everything is again, once', async () => {
    const e = fixtures.anEval();
    await commit(e);
    await pause(true);
    expect((await next()).Eval).toBeNull();
    const whilePaused = fixtures.anEval({ JobID: 'other' });
    await commit(whilePaused, fixtures.anEval({ JobID: 'third', Status: 'blocked' }));
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalBlocked: 0 });
    expect(row(e.ID).Status).toBe('pending');
    await pause(false);
    await pause(false);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 2, totalBlocked: 1 });
  });

  it('EB-118, EB-134: a delivery from before the pause counts no more', async () => {
    const e = fixtures.anEval();
    await commit(e);
    const { Token } = await next();
    await pause(true);
    await pause(false);
    await expect(plane.ask(ack, { EvalID: e.ID, Token })).rejects.toThrow('Evaluation ID not found');
    await expect(plane.ask(updateEval, { Evals: [e], Token })).rejects.toThrow('evaluation is not outstanding');
    expect((await next()).Eval?.ID).toBe(e.ID);
  });
});

describe('terms', () => {
  it('EB-136, EB-138, EB-139, EB-333, ST-11, ST-182: a new term rebuilds everything from state, deliveries start over', async () => {
    const pending = fixtures.anEval({ JobID: 'a' });
    const later = fixtures.anEval({ JobID: 'b', WaitUntil: new Date(time.nowMs() + 5_000).toISOString() });
    await commit(pending, later, fixtures.anEval({ JobID: 'c', Status: 'blocked' }));
    await next();
    await plane.broker.stop();
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0, totalWaiting: 0, totalBlocked: 0 });
    await plane.takeOver();
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1, totalUnacked: 0, totalWaiting: 1, totalBlocked: 1 });
  });

  it('EB-334, EB-13, ST-11, ST-12: without a term nothing is taken in, however much arrives', async () => {
    await plane.broker.stop();
    await commit(fixtures.anEval(), fixtures.anEval({ JobID: 'b', Status: 'blocked' }));
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalBlocked: 0 });
  });

  it('EB-144: what the holder of an old epoch still writes changes nothing', async () => {
    const e = fixtures.anEval();
    await commit(e);
    const { Token } = await next();
    await plane.write('LeaseAcquired', { Role: 'broker', Epoch: 2, Holder: 'successor' });
    await expect(plane.ask(updateEval, { Evals: [{ ...e, Status: 'complete' }], Token })).rejects.toThrow(
      'stale epoch',
    );
    expect(row(e.ID).Status).toBe('pending');
  });
});

describe('what workers ask', () => {
  it('EB-59: a dequeue names the types it can run', async () => {
    await expect(plane.ask(dequeue, { Schedulers: [], TimeoutMs: 1, SchedulerVersion: 1 })).rejects.toThrow(
      'dequeue requires at least one scheduler type',
    );
  });

  it('EB-214, EB-215, EB-216: exactly one evaluation, in the name of its delivery', async () => {
    const e = fixtures.anEval();
    await commit(e);
    const { Token } = await next();
    const two = { Evals: [e, fixtures.anEval()], Token };
    await expect(plane.ask(updateEval, two)).rejects.toThrow('only a single eval can be updated');
    await expect(plane.ask(createEval, two)).rejects.toThrow('only a single eval can be created');
    await expect(plane.ask(reblockEval, two)).rejects.toThrow('only a single eval can be reblocked');
    await expect(plane.ask(updateEval, { Evals: [e], Token: 'x' })).rejects.toThrow('evaluation token does not match');
    const child = fixtures.anEval({ PreviousEval: e.ID, Status: 'blocked' });
    await plane.ask(createEval, { Evals: [child], Token });
    await expect(plane.ask(createEval, { Evals: [child], Token })).rejects.toThrow('evaluation already exists');
    await expect(plane.ask(reblockEval, { Evals: [e], Token })).rejects.toThrow('evaluation not blocked');
  });

  it('EB-71, EB-214: the end of a delivery writes, acks and hands out what is ready, in one call', async () => {
    const [first, second] = [fixtures.anEval({ JobID: 'a' }), fixtures.anEval({ JobID: 'b' })];
    await commit(first, second);
    const { Token } = await next();
    const ended = { ...first, Status: 'complete' as const };
    const handed = await plane.ask(finish, { Eval: ended, Token, NextOf: ['service'] });
    expect(row(first.ID).Status).toBe('complete');
    expect(handed.Eval?.ID).toBe(second.ID);
    expect(plane.broker.evals.deliveries.tokenOf(second.ID)).toBe(handed.Token);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 1 });
    await expect(plane.ask(ack, { EvalID: first.ID, Token })).rejects.toThrow('Evaluation ID not found');
  });

  it('what a worker was handed and never got comes back when it asks for work again, and only then', async () => {
    const [first, second] = [fixtures.anEval({ JobID: 'a' }), fixtures.anEval({ JobID: 'b' })];
    await commit(first, second);
    const [of, ofAnother] = [await next(['service'], 'w1'), await next(['service'], 'w2')];
    expect((await next(['service'], 'w1')).Eval).toBeNull(); // it comes after the usual delay
    await expect(plane.ask(ack, { EvalID: of.Eval?.ID ?? '', Token: of.Token })).rejects.toThrow('not found');
    await plane.ask(ack, { EvalID: ofAnother.Eval?.ID ?? '', Token: ofAnother.Token });
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0, totalWaiting: 1 });
  });

  it('the end of a delivery hands out nothing that is not wanted, and does not wait for what may come', async () => {
    const [first, second] = [fixtures.anEval({ JobID: 'a' }), fixtures.anEval({ JobID: 'b' })];
    await commit(first, second);
    const { Token, Lease } = await next();
    const held = plane.state.tables.leases.get('broker');
    expect(Lease).toEqual({ Epoch: held?.Epoch, Index: held?.ModifyIndex });
    const unwanted = await plane.ask(finish, { Eval: { ...first, Status: 'complete' }, Token, NextOf: [] });
    expect(unwanted).toEqual({ Eval: null, Token: '', WaitIndex: 0, DueNs: 0, Traceparent: null });
    const last = await next();
    const none = await plane.ask(finish, {
      Eval: { ...second, Status: 'complete' },
      Token: last.Token,
      NextOf: ['service'],
    });
    expect(none.Eval).toBeNull();
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0 });
  });

  it("EB-87, EB-327: with a token that is not the delivery's nothing is written, acked or handed out", async () => {
    const [first, second] = [fixtures.anEval({ JobID: 'a' }), fixtures.anEval({ JobID: 'b' })];
    await commit(first, second);
    await next();
    const asking = plane.ask(finish, { Eval: { ...first, Status: 'complete' }, Token: 'x', NextOf: ['service'] });
    await expect(asking).rejects.toThrow('evaluation token does not match');
    expect(row(first.ID).Status).toBe('pending');
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1, totalUnacked: 1 });
  });

  it('EB-144: of a deposed holder the end of a delivery writes nothing, and the delivery goes on', async () => {
    const e = fixtures.anEval();
    await commit(e);
    const { Token } = await next();
    await plane.write('LeaseAcquired', { Role: 'broker', Epoch: 2, Holder: 'successor' });
    const asking = plane.ask(finish, { Eval: { ...e, Status: 'complete' }, Token, NextOf: ['service'] });
    await expect(asking).rejects.toThrow('stale epoch');
    expect(plane.broker.stats()).toMatchObject({ totalUnacked: 1 });
  });

  it('EB-189, EB-190: a reblocked evaluation that is woken before the ack comes back after it', async () => {
    const e = fixtures.anEval({ Status: 'blocked', SnapshotIndex: 1_000_000 });
    await commit(e);
    await plane.write('NodeRegister', { Node: fixtures.aNode(), CreateNodePool: false });
    const { Token } = await next();
    await plane.ask(reblockEval, { Evals: [{ ...e, ClassEligibility: {} }], Token });
    await plane.write('NodeRegister', { Node: fixtures.aNode(), CreateNodePool: false });
    expect(plane.broker.stats()).toMatchObject({ totalUnacked: 1, totalReady: 0, totalBlocked: 0 });
    await plane.ask(ack, { EvalID: e.ID, Token });
    expect(plane.broker.stats()).toMatchObject({ totalUnacked: 0, totalReady: 1 });
  });

  it('EB-238, EB-241: a plan needs a job that is stored and the token of the delivery', async () => {
    const e = fixtures.anEval();
    await commit(e);
    const { Token } = await next();
    const job = fixtures.aJob();
    const node = fixtures.aNode();
    const placing = { [node.ID]: [fixtures.anAlloc({ Job: null, NodeID: node.ID })] };
    await expect(plane.ask(submitPlan, { Plan: planFor(e, Token) })).rejects.toThrow(
      'cannot submit plan without job info',
    );
    await expect(
      plane.ask(submitPlan, { Plan: planFor(e, Token, { Job: job, NodeAllocation: placing }) }),
    ).rejects.toThrow('job "web" in namespace "default" not found');
    await registerJob();
    await expect(plane.ask(submitPlan, { Plan: planFor(e, 'x') })).rejects.toThrow('evaluation token does not match');
  });

  it('EB-259, EB-261, EB-272, EB-281: a plan is one transaction; one that changes nothing is none', async () => {
    await registerJob();
    const node = fixtures.aNode();
    await plane.write('NodeRegister', { Node: node, CreateNodePool: false });
    const e = fixtures.anEval();
    await commit(e);
    const { Token } = await next();
    const before = plane.state.appliedIndex;
    const noop = await plane.ask(submitPlan, { Plan: planFor(e, Token) });
    expect(noop.Result).toMatchObject({ AllocIndex: 0, RefreshIndex: 0 });
    const placed = [0, 1].map(() => fixtures.anAlloc({ Job: null, NodeID: node.ID }));
    const { Result } = await plane.ask(submitPlan, {
      Plan: planFor(e, Token, { NodeAllocation: { [node.ID]: placed } }),
    });
    expect(Result).toMatchObject({ AllocIndex: before + 1, RefreshIndex: 0 });
    expect(plane.state.appliedIndex).toBe(before + 1);
    expect(row(e.ID)).toMatchObject({ ModifyIndex: before + 1, Status: 'pending' });
    // EB-9
    expect(Result.NodeAllocation[node.ID]?.map((a) => [a.CreateIndex, a.ModifyIndex])).toEqual([
      [before + 1, before + 1],
      [before + 1, before + 1],
    ]);
  });

  it('EB-242, EB-253: of two plans for one slot the second is refused and told how far to read', async () => {
    await registerJob();
    await registerJob('b');
    const node = fixtures.aNode();
    await plane.write('NodeRegister', { Node: node, CreateNodePool: false });
    const asks = ['web', 'b'].map((JobID) => fixtures.anEval({ JobID }));
    await commit(...asks);
    const big = () => {
      const a = fixtures.anAlloc({ NodeID: node.ID });
      Object.values(a.AllocatedResources.Tasks)[0]!.Cpu.CpuShares = 3_000;
      return { ...a, Job: null };
    };
    const answers = [];
    for (let i = 0; i < 2; i++) {
      const { Eval, Token } = await next();
      answers.push(plane.ask(submitPlan, { Plan: planFor(Eval!, Token, { NodeAllocation: { [node.ID]: [big()] } }) }));
    }
    const [first, second] = (await Promise.all(answers)).map((a) => a.Result);
    expect(first).toMatchObject({ RejectedNodes: [], RefreshIndex: 0 });
    expect(second).toMatchObject({ RejectedNodes: [node.ID], AllocIndex: 0, RefreshIndex: first!.AllocIndex });
  });
});

describe('committed evaluations', () => {
  it('EB-5: an unknown status is refused and changes nothing', async () => {
    const e = fixtures.anEval();
    await commit(e);
    const { Token } = await next();
    const odd = { ...e, Status: 'cancelled' as never };
    await expect(plane.ask(updateEval, { Evals: [odd], Token })).rejects.toThrow('unknown status "cancelled"');
    expect(row(e.ID).Status).toBe('pending');
  });

  it('EB-14: what has ended is not taken in, by the log or by restoring', async () => {
    const statuses = ['complete', 'failed', 'canceled'] as const;
    await commit(...statuses.map((Status) => fixtures.anEval({ JobID: Status, Status })));
    await plane.broker.stop();
    await plane.takeOver();
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalPending: 0, totalWaiting: 0, totalBlocked: 0 });
  });

  it('EB-15, EB-332: the first commit sets both indexes, later ones move one, and none leads out of the end', async () => {
    const e = fixtures.anEval();
    await commit(e);
    const created = plane.state.appliedIndex;
    expect(row(e.ID)).toMatchObject({ CreateIndex: created, ModifyIndex: created });
    await commit({ ...e, Status: 'complete', FailedTGAllocs: {} });
    const ended = plane.state.appliedIndex;
    expect(row(e.ID)).toMatchObject({ CreateIndex: created, ModifyIndex: ended, Status: 'complete' });
    await commit({ ...e, Status: 'pending' });
    expect(row(e.ID)).toMatchObject({ Status: 'complete', ModifyIndex: ended });
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1 }); // tracked since its first commit (EB-337)
  });

  it('EB-19: a complete evaluation with failed placements cancels and untracks nothing', async () => {
    const waiting = fixtures.anEval({ Status: 'blocked' });
    await commit(waiting);
    await commit(fixtures.anEval({ Status: 'complete', FailedTGAllocs: { web: {} as never } }));
    expect(row(waiting.ID).Status).toBe('blocked');
    expect(plane.broker.stats()).toMatchObject({ totalBlocked: 1 });
  });

  it('EB-175: an allocation that is lost frees nothing for those that wait', async () => {
    await registerJob();
    const node = fixtures.aNode();
    await plane.write('NodeRegister', { Node: node, CreateNodePool: false });
    const e = fixtures.anEval();
    await commit(e);
    const alloc = fixtures.anAlloc({ Job: null, NodeID: node.ID });
    const job = plane.state.tables.jobs.get('default/web') ?? null;
    await plane.write('ApplyPlanResults', fixtures.aPlanResult({ Job: job, AllocsUpdated: [alloc], EvalID: e.ID }));
    await commit(fixtures.anEval({ JobID: 'waits', Status: 'blocked', SnapshotIndex: 1_000_000 }));
    const stop = { ID: alloc.ID, DesiredDescription: 'x', ClientStatus: 'lost' as const, FollowupEvalID: '' };
    await plane.write('ApplyPlanResults', fixtures.aPlanResult({ AllocsStopped: [stop], EvalID: e.ID }));
    expect(plane.state.tables.allocs.get(alloc.ID)?.ClientStatus).toBe('lost');
    expect(plane.broker.stats()).toMatchObject({ totalBlocked: 1 });
  });
});

describe('the canceler', () => {
  const supersedeSome = async (): Promise<void> => {
    for (let i = 0; i < 4; i++) await commit(fixtures.anEval());
    const { Eval, Token } = await next();
    await plane.ask(ack, { EvalID: Eval!.ID, Token });
  };
  const canceled = (): number => plane.state.tables.evals.count('status', 'canceled');

  it('EB-77, EB-97: an ack wakes it and does not wait for its write', async () => {
    const propose = plane.state.propose.bind(plane.state);
    let goOn = (): void => {};
    plane.state.propose = async (draft) => {
      if (draft.fence) await new Promise<void>((go) => (goOn = go));
      return propose(draft);
    };
    await supersedeSome(); // resolves although the write hangs
    expect(canceled()).toBe(0);
    goOn();
    await settled();
    expect(canceled()).toBe(2);
  });

  it('EB-98: what it cannot write stays pending and is canceled at a later sweep', async () => {
    const propose = plane.state.propose.bind(plane.state);
    plane.state.propose = (draft) => (draft.fence ? Promise.reject(new Error('NATS is down')) : propose(draft));
    await supersedeSome();
    await settled();
    expect(canceled()).toBe(0);
    expect(plane.broker.stats()).toMatchObject({ totalCancelable: 2 });
    plane.state.propose = propose;
    time.advance(5_000);
    await settled();
    expect(canceled()).toBe(2);
    expect(plane.broker.stats()).toMatchObject({ totalCancelable: 0 });
  });

  it('EB-95: more than one batch is written batch by batch, without a pause', async () => {
    await commit(...Array.from({ length: 2_000 }, () => fixtures.anEval()));
    const { Eval, Token } = await next();
    await plane.ask(ack, { EvalID: Eval!.ID, Token });
    await settled();
    const batches = plane.state.history.filter((a) => a.txn.type === 'EvalUpdate').slice(1);
    expect(batches.map((a) => a.changes.filter((c) => c.table === 'evals').length)).toEqual([728, 728, 542]);
    expect(canceled()).toBe(1_998);
  });
});

describe('the pause flag', () => {
  it('EB-125, EB-131: it has taken effect when the write is applied; evaluations still come and wait in state', async () => {
    await commit(fixtures.anEval());
    await pause(true);
    expect(plane.broker.evals.isEnabled).toBe(false);
    const e = fixtures.anEval({ JobID: 'b' });
    await commit(e);
    expect(row(e.ID).Status).toBe('pending');
    await pause(false);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 2 });
  });

  it('EB-126, F12: a new holder that finds it set takes in nothing, and unpausing under it restores', async () => {
    await commit(fixtures.anEval());
    await pause(true);
    await plane.broker.stop();
    await plane.takeOver();
    expect(plane.broker.evals.isEnabled).toBe(false);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0 });
    await pause(false);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1 });
  });

  it('EB-127: the first holder stores what a cluster starts with', () => {
    const [config] = plane.state.tables.scheduler_config.all();
    expect(config).toMatchObject({ PauseEvalBroker: false, SchedulerAlgorithm: 'binpack' });
  });

  it('EB-129: a check-and-set that lost has no effect', async () => {
    const Config = { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker: true };
    await plane.write('SchedulerConfig', { Config, CAS: true, ModifyIndex: 999_999 });
    expect(plane.broker.evals.isEnabled).toBe(true);
  });

  it('EB-130: whoever does not hold the role is not enabled by it', async () => {
    await pause(true);
    await plane.broker.stop();
    await pause(false);
    expect(plane.broker.evals.isEnabled).toBe(false);
    expect(plane.broker.blocked.stats()).toMatchObject({ totalBlocked: 0 });
  });

  it('EB-132: housekeeping that comes while paused is lost', async () => {
    await pause(true);
    plane.broker.evals.enqueue(fixtures.anEval({ Namespace: '-', Type: '_core', JobID: 'eval-gc' }));
    await pause(false);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0 });
  });

  it('EB-237: it does not touch the plan queue', async () => {
    await pause(true);
    expect(plane.broker.plans.isEnabled).toBe(true);
  });

  it('F14, OP-26: a hundred pauses among arrivals leave each evaluation tracked once', async () => {
    for (let i = 0; i < 100; i++) {
      await pause(i % 2 === 0);
      await commit(fixtures.anEval({ JobID: `job-${i}` }));
    }
    await pause(false);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 100 });
  });
});

describe('taking and losing the role', () => {
  it('EB-140: of several blocked evaluations of one job the newest stays, the others are canceled', async () => {
    await plane.broker.stop();
    const [older, newer] = [fixtures.anEval({ Status: 'blocked' }), fixtures.anEval({ Status: 'blocked' })];
    await commit(older);
    await commit(newer);
    await plane.takeOver();
    await settled();
    expect(plane.broker.blocked.isTracked(newer.ID)).toBe(true);
    expect(row(older.ID).Status).toBe('canceled');
    expect(row(newer.ID).Status).toBe('blocked');
  });

  it('EB-141: giving it up may happen any number of times and leaves no timer', async () => {
    await commit(fixtures.anEval(), fixtures.anEval({ JobID: 'b', Wait: 5e9 }));
    await next();
    await plane.broker.stop();
    await plane.broker.stop();
    expect(time.armedCount).toBe(0);
  });

  it('EB-143: losing and regaining it builds everything anew', async () => {
    await commit(fixtures.anEval());
    const { Token, Eval } = await next();
    await plane.broker.stop();
    await commit(fixtures.anEval({ JobID: 'missed' }));
    await plane.takeOver();
    expect(plane.broker.stats()).toMatchObject({ totalReady: 2, totalUnacked: 0 });
    await expect(plane.ask(ack, { EvalID: Eval!.ID, Token })).rejects.toThrow('Evaluation ID not found');
  });

  it('EB-104: the wait of a follow-up may start over, and is never shorter than from its creation', async () => {
    await commit(fixtures.anEval({ Wait: 60e9 }));
    time.advance(30_000);
    await plane.broker.stop();
    await plane.takeOver();
    time.advance(59_999);
    expect(plane.broker.stats()).toMatchObject({ totalWaiting: 1, totalReady: 0 });
    time.advance(1);
    expect(plane.broker.stats()).toMatchObject({ totalWaiting: 0, totalReady: 1 });
  });
});

describe('the protocol of workers', () => {
  it('EB-60: another scheduler version gets nothing', async () => {
    await expect(plane.ask(dequeue, { Schedulers: ['service'], TimeoutMs: 1, SchedulerVersion: 2 })).rejects.toThrow(
      'dequeue disallowed: calling scheduler version is 2; leader version is 1',
    );
  });

  it('EB-64: a dequeue that names no wait waits a second', async () => {
    let answered = false;
    const asking = plane
      .ask(dequeue, { Schedulers: ['service'], TimeoutMs: 0, SchedulerVersion: 1 })
      .then(() => (answered = true));
    time.advance(999);
    await settled();
    expect(answered).toBe(false);
    time.advance(1);
    await asking;
    expect(answered).toBe(true);
  });

  it('EB-78: ack and nack write nothing', async () => {
    await commit(fixtures.anEval());
    const { Eval, Token } = await next();
    const before = plane.state.appliedIndex;
    await plane.ask(nack, { EvalID: Eval!.ID, Token });
    time.advance(1_000);
    const again = await next();
    await plane.ask(ack, { EvalID: Eval!.ID, Token: again.Token });
    expect(plane.state.appliedIndex).toBe(before);
  });

  it('EB-105: housekeeping at its limit is dropped, without a write', async () => {
    plane.broker.evals.enqueue(fixtures.anEval({ Namespace: '-', Type: '_core', JobID: 'eval-gc' }));
    const before = plane.state.appliedIndex;
    for (let i = 0; i < 3; i++) {
      const { Eval, Token } = await next(['_core']);
      await plane.ask(nack, { EvalID: Eval!.ID, Token });
      time.advance(20_000);
    }
    await settled();
    expect(plane.state.appliedIndex).toBe(before);
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0, totalUnacked: 0, totalPending: 0 });
  });

  it('EB-151: a follow-up of housekeeping is enqueued behind it and not committed', async () => {
    const core = { Namespace: '-', Type: '_core', JobID: 'variables-rekey' };
    plane.broker.evals.enqueue(fixtures.anEval(core));
    const { Eval, Token } = await next(['_core']);
    const followUp = fixtures.anEval({ ...core, PreviousEval: Eval!.ID });
    await plane.ask(createEval, { Evals: [followUp], Token });
    expect(plane.state.tables.evals.has(followUp.ID)).toBe(false);
    await plane.ask(ack, { EvalID: Eval!.ID, Token });
    expect((await next(['_core'])).Eval?.ID).toBe(followUp.ID);
  });

  it('EB-240, EB-88: while a plan is on its way no timeout takes the delivery; after the answer it has the whole one', async () => {
    await registerJob();
    const e = fixtures.anEval();
    await commit(e);
    const { Token } = await next();
    const propose = plane.state.propose.bind(plane.state);
    let commitNow = (): void => {};
    plane.state.propose = async (draft) => {
      if (draft.type === 'ApplyPlanResults') await new Promise<void>((go) => (commitNow = go));
      return propose(draft);
    };
    const node = fixtures.aNode();
    await plane.write('NodeRegister', { Node: node, CreateNodePool: false });
    const NodeAllocation = { [node.ID]: [fixtures.anAlloc({ Job: null, NodeID: node.ID })] };
    const submitting = plane.ask(submitPlan, { Plan: planFor(e, Token, { NodeAllocation }) });
    await settled();
    time.advance(300_000);
    expect(plane.broker.stats()).toMatchObject({ totalUnacked: 1 });
    commitNow();
    await submitting;
    time.advance(59_999);
    expect(plane.broker.stats()).toMatchObject({ totalUnacked: 1 });
    time.advance(1);
    expect(plane.broker.stats()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
  });
});
