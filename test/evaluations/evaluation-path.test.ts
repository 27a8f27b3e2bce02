import { dequeue } from '@waybill/rpc';
import { systemClock, systemTimers } from '@waybill/service';
import { fixtures } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from '../support/local-control-plane.js';
import { eventually } from '../support/wait.js';

let plane: LocalControlPlane;

beforeEach(async () => {
  plane = new LocalControlPlane(systemClock, systemTimers);
  await plane.start(2);
});
afterEach(() => plane.stop());

const allocs = () => [...plane.state.tables.allocs.all()];
const evals = () => [...plane.state.tables.evals.all()];
const addNode = async (over: Parameters<typeof fixtures.aNode>[0] = {}) => {
  const node = fixtures.aNode(over);
  await plane.write('NodeRegister', { Node: node, CreateNodePool: false });
  return node;
};
const register = async (count: number, over: Parameters<typeof fixtures.aJob>[0] = {}) => {
  const job = fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Count: count })], ...over });
  await plane.write(
    'JobRegister',
    fixtures.aRegistration(job, { Eval: fixtures.anEval({ JobID: job.ID, Type: job.Type }) }),
  );
  return job;
};
const idle = () =>
  eventually('no evaluation is pending', () => Promise.resolve(evals().every((e) => e.Status !== 'pending')));

describe('from a job to its allocations', () => {
  it('places a service job, completes its evaluation, and its second run changes nothing (EB-226)', async () => {
    const node = await addNode();
    await register(3);
    await idle();
    expect(
      allocs()
        .map((a) => a.Name)
        .toSorted(),
    ).toEqual(['web.web[0]', 'web.web[1]', 'web.web[2]']);
    expect(new Set(allocs().map((a) => a.NodeID))).toEqual(new Set([node.ID]));
    expect(allocs().every((a) => a.Job?.ID === 'web')).toBe(true);
    expect(evals()[0]).toMatchObject({ Status: 'complete', QueuedAllocations: { web: 0 } });
    const index = plane.state.appliedIndex;
    await plane.write('EvalUpdate', { Evals: [fixtures.anEval({ TriggeredBy: 'node-update' })] });
    await idle();
    expect(plane.state.history.slice(index).map((a) => a.txn.type)).toEqual(['EvalUpdate', 'EvalUpdate']);
    expect(allocs()).toHaveLength(3);
  });

  it('EB-176: a blocked evaluation places the rest when a node of a class it never saw comes', async () => {
    await register(1);
    await eventually('it is blocked', () => Promise.resolve(evals().some((e) => e.Status === 'blocked')));
    await idle();
    expect(allocs()).toHaveLength(0);
    await addNode();
    await eventually('it is placed', () => Promise.resolve(allocs().length === 1));
    await eventually('all evaluations ended', () => Promise.resolve(evals().every((e) => e.Status === 'complete')));
  });

  it('counts up and down, highest names first, and stops all when the job is stopped', async () => {
    await addNode();
    await register(4);
    await idle();
    await register(2);
    await idle();
    const left = () =>
      allocs()
        .filter((a) => a.DesiredStatus === 'run')
        .map((a) => a.Name)
        .toSorted();
    expect(left()).toEqual(['web.web[0]', 'web.web[1]']);
    await register(3);
    await idle();
    expect(left()).toEqual(['web.web[0]', 'web.web[1]', 'web.web[2]']);
    await plane.write('JobDeregister', {
      JobID: 'web',
      Purge: false,
      NoShutdownDelay: false,
      SubmitTime: 0,
      Eval: fixtures.anEval({ TriggeredBy: 'job-deregister' }),
      TrackedVersions: 6,
    });
    await idle();
    expect(left()).toEqual([]);
  });

  it('SC-200: what a node that went down ran is lost and replaced elsewhere, under the same name', async () => {
    const first = await addNode();
    await register(2);
    await idle();
    const second = await addNode();
    await plane.write('NodeUpdateStatus', {
      NodeID: first.ID,
      Status: 'down',
      UpdatedAt: 0,
      NodeEvent: null,
      IdentitySigningKeyID: '',
    });
    await plane.write('EvalUpdate', { Evals: [fixtures.anEval({ TriggeredBy: 'node-update', NodeID: first.ID })] });
    await idle();
    const old = allocs().filter((a) => a.NodeID === first.ID);
    expect(old.map((a) => [a.ClientStatus, a.DesiredStatus])).toEqual([
      ['lost', 'stop'],
      ['lost', 'stop'],
    ]);
    const replacements = allocs().filter((a) => a.NodeID === second.ID);
    expect(replacements.map((a) => a.Name).toSorted()).toEqual(old.map((a) => a.Name).toSorted());
    expect(new Set(replacements.map((a) => a.PreviousAllocation))).toEqual(new Set(old.map((a) => a.ID)));
  });

  it('EB-100: of eleven evaluations of one system job two are run and nine are canceled', async () => {
    await plane.stop();
    plane = new LocalControlPlane(systemClock, systemTimers);
    await plane.start(0);
    const node = await addNode();
    const Type = 'system';
    const job = fixtures.aJob({ ID: 'logs', Type, TaskGroups: [fixtures.aGroup({}, Type)] });
    await plane.write('JobRegister', fixtures.aRegistration(job, { Eval: fixtures.anEval({ JobID: 'logs', Type }) }));
    for (let i = 0; i < 10; i++)
      await plane.write('EvalUpdate', {
        Evals: [fixtures.anEval({ JobID: 'logs', Type, TriggeredBy: 'node-update', NodeID: node.ID })],
      });
    expect(plane.broker.stats()).toMatchObject({ totalReady: 1, totalPending: 10 });
    plane.addWorkers(3);
    await idle();
    const statuses = evals().map((e) => e.Status);
    expect(statuses.filter((s) => s === 'complete')).toHaveLength(2);
    expect(statuses.filter((s) => s === 'canceled')).toHaveLength(9);
    await eventually('the broker is empty', () => {
      const { totalReady, totalUnacked, totalPending, totalWaiting, totalCancelable } = plane.broker.stats();
      return [totalReady, totalUnacked, totalPending, totalWaiting, totalCancelable].every((n) => n === 0);
    });
    expect(allocs()).toHaveLength(1);
  });

  it('EB-219, EB-216, EB-218: a blocked evaluation that still cannot place all waits on under its id', async () => {
    await register(2, { TaskGroups: [fixtures.aGroup({ Count: 2, Tasks: [halfANode()] })] });
    const blocked = await eventually('it is blocked', () => evals().find((e) => e.Status === 'blocked'));
    await idle();
    await addNode({ NodeClass: 'small', NodeResources: { ...fixtures.aNode().NodeResources, Cpu: cpu(2_500) } });
    await eventually('one is placed', () => allocs().length === 1);
    await eventually('it waits again', () => plane.broker.stats()['totalBlocked'] === 1);
    expect(
      evals()
        .filter((e) => e.Status === 'blocked')
        .map((e) => e.ID),
    ).toEqual([blocked.ID]);
    await addNode({ NodeClass: 'large' });
    await eventually('the other is placed', () => allocs().length === 2);
    await eventually('it is complete', () => plane.state.tables.evals.get(blocked.ID)?.Status === 'complete');
    expect(plane.broker.stats()).toMatchObject({ totalBlocked: 0 });
  });

  it('SC-21: more than fits one plan is placed by several, in one run', async () => {
    for (let i = 0; i < 40; i++) await addNode();
    await register(1_200);
    await eventually('all are placed', () => allocs().length === 1_200);
    await idle();
    const plans = plane.state.history.flatMap((a) => (a.txn.type === 'ApplyPlanResults' ? [a.txn.payload] : []));
    expect(plans.map((p) => p.AllocsUpdated.length)).toEqual([1_000, 200]);
    expect(new Set(allocs().map((a) => a.Name)).size).toBe(1_200);
    expect(evals()).toMatchObject([{ Status: 'complete', QueuedAllocations: { web: 0 } }]);
  });

  it('EB-133: paused, nothing happens to a stopped job; unpaused, it stops', async () => {
    await addNode();
    await register(1);
    await idle();
    const pause = (PauseEvalBroker: boolean) =>
      plane.write('SchedulerConfig', {
        Config: { ...fixtures.aSchedulerConfiguration(), PauseEvalBroker },
        CAS: false,
        ModifyIndex: 0,
      });
    await pause(true);
    const stop = fixtures.anEval({ TriggeredBy: 'job-deregister' });
    await plane.write('JobDeregister', {
      JobID: 'web',
      Purge: false,
      NoShutdownDelay: false,
      SubmitTime: 0,
      Eval: stop,
      TrackedVersions: 6,
    });
    // A worker that is asking comes back empty-handed before the flag is lifted.
    expect(await plane.ask(dequeue, { Schedulers: ['service'], TimeoutMs: 50, SchedulerVersion: 1 })).toMatchObject({
      Eval: null,
    });
    expect(plane.state.tables.evals.get(stop.ID)?.Status).toBe('pending');
    expect(allocs()[0]?.DesiredStatus).toBe('run');
    await pause(false);
    await eventually('it is stopped', () => allocs()[0]?.DesiredStatus === 'stop');
    await eventually('the evaluation is complete', () => plane.state.tables.evals.get(stop.ID)?.Status === 'complete');
  });
});

const cpu = (CpuShares: number) => ({ CpuShares, TotalCpuCores: 4, ReservableCpuCores: null });

/** A task of which one fits a node of 2,500 MHz and one more a node of 4,000 MHz. */
function halfANode() {
  const task = fixtures.aTask();
  return { ...task, Resources: { ...task.Resources, CPU: 2_400 } };
}
