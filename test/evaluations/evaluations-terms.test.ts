import { FakeTime, type Allocation, type Node, type Plan, type PlanResult } from '@waybill/model';
import { ack, dequeue, SCHEDULER_VERSION, submitPlan } from '@waybill/rpc';
import { fixtures } from '@waybill/state';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalControlPlane } from '../support/local-control-plane.js';

// What one term of the broker role leaves to the next, and what of it does not outlive the term.

const NACK_TIMEOUT_MS = 60_000;

let time: FakeTime;
let plane: LocalControlPlane;

beforeEach(async () => {
  time = new FakeTime();
  plane = new LocalControlPlane(time, time, { rejectionTracker: { enabled: true, nodeThreshold: 1 } });
  await plane.start(0);
});
afterEach(async () => {
  const stopped = plane.stop();
  await time.pass(10_000);
  await stopped;
});

/** On a node there is room for one of them. */
const LARGE = (() => {
  const task = fixtures.aTask();
  return fixtures.aGroup({ Count: 1, Tasks: [{ ...task, Resources: { ...task.Resources, CPU: 2_500 } }] });
})();

async function addNode(): Promise<Node> {
  const node = fixtures.aNode();
  await plane.write('NodeRegister', { Node: node, CreateNodePool: false });
  return node;
}
const register = (ID: string) =>
  plane.write(
    'JobRegister',
    fixtures.aRegistration(fixtures.aJob({ ID, TaskGroups: [LARGE] }), { Eval: fixtures.anEval({ JobID: ID }) }),
  );
async function held() {
  const asking = plane.ask(dequeue, { Schedulers: ['service'], TimeoutMs: 1, SchedulerVersion: SCHEDULER_VERSION });
  await time.pass(1);
  const { Eval, Token } = await asking;
  if (!Eval) throw new Error('nothing to work on');
  return { evaluation: Eval, token: Token };
}
/** A plan that places one allocation of the evaluation's job on the node. */
function placing(node: Node, { evaluation, token }: Awaited<ReturnType<typeof held>>): Plan {
  const Job = plane.state.tables.jobs.get(`default/${evaluation.JobID}`)!;
  const alloc: Allocation = { ...fixtures.anAlloc({ Job, JobID: Job.ID, NodeID: node.ID }), Job: null };
  return fixtures.aPlan({
    EvalID: evaluation.ID,
    EvalToken: token,
    Job,
    NodeAllocation: { [node.ID]: [alloc] },
  });
}
const submit = async (plan: Plan): Promise<PlanResult> => {
  const asking = plane.ask(submitPlan, { Plan: plan });
  await time.pass(1);
  return (await asking).Result;
};

describe('from one holder to the next', () => {
  it('EB-135: what the one before committed is seen by the first judgement of the new one', async () => {
    const node = await addNode();
    await register('a');
    const first = await held();
    expect(await submit(placing(node, first))).toMatchObject({ RejectedNodes: [] });
    await plane.broker.stop();
    await register('b');
    expect(plane.broker.stats()).toMatchObject({ totalReady: 0 }); // nothing is enqueued before the term begins
    await plane.takeOver();
    const [again, other] = [await held(), await held()];
    const second = again.evaluation.JobID === 'b' ? again : other;
    expect(await submit(placing(node, second))).toMatchObject({ RejectedNodes: [node.ID], NodeAllocation: {} });
  });

  it('EB-230: taking the role stops no worker: what is registered after it is worked off', async () => {
    plane.addWorkers(1);
    for (let term = 0; term < 3; term++) {
      await plane.broker.stop();
      await plane.takeOver();
    }
    await register('a');
    const status = () => [...plane.state.tables.evals.by('job', 'default/a')].map((e) => e.Status);
    for (let waited = 0; waited < 60_000 && status()[0] !== 'complete'; waited += 250) await time.pass(250);
    expect(status()[0]).toBe('complete');
  });

  it('EB-289: who was rejected how often is forgotten, and nobody makes the node eligible again', async () => {
    const node = await addNode();
    await register('a');
    await register('b');
    const [first, second] = [await held(), await held()];
    await submit(placing(node, first));
    expect(await submit(placing(node, second))).toMatchObject({ RejectedNodes: [node.ID] });
    expect([...plane.broker.rejectionScores()]).toEqual([[node.ID, 1]]);
    const eligibility = () => plane.state.tables.nodes.get(node.ID)!.SchedulingEligibility;
    expect(eligibility()).toBe('ineligible');
    await plane.broker.stop();
    await plane.takeOver();
    expect([...plane.broker.rejectionScores()]).toEqual([]);
    await time.pass(60 * 60_000);
    expect(eligibility()).toBe('ineligible');
  });

  it('EB-74: there is no moment between the end of the time and the nack: an ack that comes later finds nothing, and the evaluation comes again', async () => {
    await register('a');
    const { evaluation, token } = await held();
    await time.pass(NACK_TIMEOUT_MS - 2);
    expect(plane.broker.stats()).toMatchObject({ totalUnacked: 1 });
    await time.pass(1);
    expect(plane.broker.stats()).toMatchObject({ totalUnacked: 0, totalWaiting: 1 });
    await expect(plane.ask(ack, { EvalID: evaluation.ID, Token: token })).rejects.toThrow('Evaluation ID not found');
    await time.pass(1_000);
    expect((await held()).evaluation.ID).toBe(evaluation.ID);
  });
});
