import { systemClock, systemTimers } from '@waybill/service';
import { fixtures } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from './support/local-control-plane.js';
import { eventually } from './support/wait.js';

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
});
