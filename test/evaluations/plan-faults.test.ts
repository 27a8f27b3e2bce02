import { type Allocation, type Plan } from '@waybill/model';
import { submitPlan } from '@waybill/rpc';
import { Worker } from '@waybill/scheduler';
import { fixtures } from '@waybill/state';
import { silentLogger, tracerFor } from '@waybill/telemetry';
import { describe, expect, it } from 'vitest';
import {
  NOTHING,
  acks,
  addNode,
  allEnded,
  allocs,
  breaksOnPurpose,
  commitEval,
  completes,
  counters,
  eachOnItsOwnLog,
  evalOf,
  evals,
  failing,
  held,
  holdingUp,
  jobOf,
  largeGroup,
  nacks,
  placed,
  placing,
  planOf,
  plane,
  register,
  report,
  running,
  setNodeStatus,
  statusOf,
  stopJob,
  stopOf,
  submits,
  tables,
  time,
  until,
} from '../support/evaluation-scenario.js';

eachOnItsOwnLog();

describe('plans', () => {
  it('F23, EB-242, EB-253: of two plans for the last slot of a node one is committed, the other learns how far to refresh', async () => {
    const node = await addNode();
    await register({ ID: 'a', TaskGroups: [largeGroup()] });
    await register({ ID: 'b', TaskGroups: [largeGroup()] });
    const both = [await held(), await held()];
    const plans = both.map((d) => planOf(d, { NodeAllocation: placing(node, jobOf(d.e.JobID)) }));
    const [won, lost] = await Promise.all(plans.map((plan) => submits(plan)));
    expect(won).toMatchObject({ RejectedNodes: [], RefreshIndex: 0 });
    expect(lost).toMatchObject({ RejectedNodes: [node.ID], AllocIndex: 0 });
    expect(lost!.RefreshIndex).toBeGreaterThanOrEqual(won!.AllocIndex);
    expect(allocs()).toHaveLength(1);
  });

  it('F24, EB-246, EB-251: a node that went down since is rejected, stops elsewhere are committed', async () => {
    const [a, b] = [await addNode(), await addNode()];
    const [old] = await placed(a);
    await commitEval();
    const delivery = await held();
    const plan = planOf(delivery, { NodeUpdate: { [a.ID]: [stopOf(old!)] }, NodeAllocation: placing(b, jobOf()) });
    await setNodeStatus(b, 'down');
    const result = await submits(plan);
    expect(result.RejectedNodes).toEqual([b.ID]);
    expect(result.AllocIndex).toBeGreaterThan(0);
    expect(allocs().map((x) => x.DesiredStatus)).toEqual(['stop']);
  });

  it('F25, EB-260: a node that goes down between verification and commit: committed, then lost and replaced', async () => {
    const [a, b] = [await addNode(), await addNode({ Status: 'initializing' })];
    await register();
    const log = holdingUp('ApplyPlanResults');
    const delivery = await held();
    const answered = submits(planOf(delivery, { NodeAllocation: placing(a, jobOf()) }));
    await until('it is being committed', () => log.waiting() === 1);
    await setNodeStatus(a, 'down');
    log.letGo();
    await answered;
    expect(allocs().map((x) => [x.NodeID, x.ClientStatus])).toEqual([[a.ID, 'pending']]);
    await completes(delivery);
    await setNodeStatus(b, 'ready');
    plane.addWorkers(1);
    await commitEval({ NodeID: a.ID });
    await allEnded();
    expect(allocs().find((x) => x.NodeID === a.ID)?.ClientStatus).toBe('lost');
    expect(
      running()
        .filter((x) => x.ClientStatus !== 'lost')
        .map((x) => x.NodeID),
    ).toEqual([b.ID]);
  });

  it('F26: placements of a job that was stopped since are left out without a word', async () => {
    const node = await addNode();
    await register();
    const delivery = await held();
    const plan = planOf(delivery, { NodeAllocation: placing(node, jobOf()) });
    await stopJob();
    await submits(plan);
    expect(allocs()).toEqual([]);
    await completes(delivery);
    plane.addWorkers(1);
    await allEnded();
  });

  it('F27, EB-252: all at once over two nodes of which one is full: nothing is committed, and there is an index to refresh to', async () => {
    const [a, b] = [await addNode(), await addNode()];
    await placed(b, 1, { ID: 'full' });
    await register({ AllAtOnce: true, TaskGroups: [largeGroup(2)] });
    const delivery = await held();
    const NodeAllocation = { ...placing(a, jobOf(), 1, 0), ...placing(b, jobOf(), 1, 1) };
    const result = await submits(planOf(delivery, { AllAtOnce: true, NodeAllocation }));
    expect(result).toMatchObject({ AllocIndex: 0, NodeAllocation: {} });
    expect(result.RefreshIndex).toBeGreaterThan(0);
    expect(allocs().filter((x) => x.JobID === 'web')).toEqual([]);
  });

  it('F27, EB-223: rejected at every attempt, it fails after five and leaves a blocked one behind', async () => {
    const node = await addNode();
    // Without a deployment, whose creation would count as progress.
    const evaluation = await register({ TaskGroups: [{ ...largeGroup(), Update: null }] });
    // Each time it has planned, somebody else takes the place.
    let taken = 0;
    let attempts = 0;
    const wrapped = new Proxy(plane, {
      get: (target, name) =>
        name !== 'ask'
          ? Reflect.get(target, name)
          : async (call: { name: string }, request: { Plan?: Plan }, options: never) => {
              if (call.name === submitPlan.name) {
                if (request.Plan?.EvalID === evaluation.ID) attempts++;
                const Job = fixtures.aJob({ ID: `rival-${taken++}`, TaskGroups: [largeGroup()] });
                const Eval = fixtures.anEval({ JobID: Job.ID, Status: 'complete' });
                await plane.write('JobRegister', fixtures.aRegistration(Job, { Eval }));
                const rival = {
                  ...fixtures.anAlloc({ Job: jobOf(Job.ID), NodeID: node.ID }),
                  Job: null,
                  Name: 'rival',
                };
                breaksOnPurpose('accepted-plan');
                await plane.write(
                  'ApplyPlanResults',
                  fixtures.aPlanResult({ Job: jobOf(Job.ID), EvalID: Eval.ID, AllocsUpdated: [rival] }),
                );
                const answer = await target.ask(call as never, request as never, options);
                await report(rival as Allocation, 'complete');
                return answer;
              }
              return target.ask(call as never, request as never, options);
            },
    });
    const worker = new Worker({
      rpc: wrapped,
      state: plane.state,
      clock: time,
      timers: time,
      newId: plane.newId,
      logger: silentLogger,
      tracer: () => tracerFor('test'),
    });
    worker.start();
    await until('it has failed', () => statusOf(evaluation.ID) === 'failed');
    const stopped = worker.stop();
    await time.pass(10_000);
    await stopped;
    expect(attempts).toBe(5);
    expect(evalOf(evaluation.ID).StatusDescription).toContain('maximum attempts reached (5)');
    expect(
      evals().filter((e) => e.TriggeredBy === 'max-plan-attempts' && e.PreviousEval === evaluation.ID),
    ).toHaveLength(1);
  });

  it('F28, EB-243: a plan whose snapshot the applier does not reach in 10 s fails; the next one works', async () => {
    const node = await addNode();
    await register();
    const waitFor = plane.state.waitFor.bind(plane.state);
    plane.state.waitFor = (index) =>
      index <= plane.state.appliedIndex
        ? waitFor(index)
        : new Promise((_resolve, reject) => time.after(10_000, () => reject(new Error('behind'))));
    const delivery = await held();
    const late = failing(submits(planOf(delivery, { SnapshotIndex: 1_000, NodeAllocation: placing(node, jobOf()) })));
    await time.pass(9_999);
    const inTime = submits(planOf(delivery, { NodeAllocation: placing(node, jobOf()) }));
    await time.pass(1);
    expect(await late).toMatch(/^timed out after 10s waiting for index=1000/);
    expect((await inTime).AllocIndex).toBeGreaterThan(0);
  });

  it('F29, EB-263: a plan that was verified on top of one whose commit failed neither overcommits nor builds on it', async () => {
    const node = await addNode();
    await register({ ID: 'a', TaskGroups: [largeGroup()] });
    await register({ ID: 'b', TaskGroups: [largeGroup()] });
    const log = holdingUp('ApplyPlanResults');
    const both = [await held(), await held()];
    const answers = both.map((d) => failing(submits(planOf(d, { NodeAllocation: placing(node, jobOf(d.e.JobID)) }))));
    await until('the first is being committed', () => log.waiting() >= 1);
    log.letGo(new Error('the log is away'));
    await time.pass(5_000);
    expect(await answers[0]).toBe('the log is away');
    await answers[1];
    expect(running().length).toBeLessThanOrEqual(1);
    expect(running().every((x) => x.JobID === 'b')).toBe(true);
    plane.addWorkers(1);
    for (const d of both) await nacks(d);
    await allEnded();
    expect(running()).toHaveLength(1);
  });

  it('F30: the lead is lost and regained with a plan in flight: one answer, no deadlock, and the plan is seen', async () => {
    const node = await addNode();
    const evaluation = await register();
    const log = holdingUp('ApplyPlanResults');
    const delivery = await held();
    const answers: unknown[] = [];
    const asked = submits(planOf(delivery, { NodeAllocation: placing(node, jobOf()) }));
    void asked.then(
      (r) => answers.push(r),
      (e: unknown) => answers.push(e),
    );
    await until('it is being committed', () => log.waiting() === 1);
    const stopping = plane.broker.stop();
    log.letGo(); // it reaches the log before anybody else takes the role
    await stopping;
    await plane.takeOver();
    await time.pass(1_000);
    expect(answers).toHaveLength(1);
    expect(allocs()).toHaveLength(1);
    plane.addWorkers(1);
    await allEnded();
    expect(statusOf(evaluation.ID)).toBe('complete');
    expect(allocs()).toHaveLength(1);
  });

  it('F31, EB-144: what a stalled leader publishes after a successor took over has no effect', async () => {
    const node = await addNode();
    const evaluation = await register();
    const log = holdingUp('ApplyPlanResults');
    const delivery = await held();
    const answer = failing(submits(planOf(delivery, { NodeAllocation: placing(node, jobOf()) })));
    await until('it is being committed', () => log.waiting() === 1);
    await plane.write('LeaseAcquired', {
      Role: 'broker',
      Epoch: plane.state.machine.epochOf('broker') + 1,
      Holder: 'successor',
    });
    log.letGo();
    expect(await answer).toContain('stale epoch');
    expect(allocs()).toEqual([]);
    expect(plane.state.history.filter((a) => a.verdict.kind === 'void').map((a) => a.txn.type)).toContain(
      'ApplyPlanResults',
    );
    await plane.broker.stop();
    await plane.takeOver();
    plane.addWorkers(1);
    await allEnded();
    expect(statusOf(evaluation.ID)).toBe('complete');
    expect(allocs()).toHaveLength(1);
  });

  it('F38, EB-280, EB-24: a plan that evicts three allocations of two jobs brings two evaluations with it', async () => {
    const node = await addNode();
    const small = fixtures.aGroup({ Count: 2 });
    const first = await placed(node, 2, { ID: 'low-a', TaskGroups: [small] });
    const second = await placed(node, 1, { ID: 'low-b', TaskGroups: [small] });
    await register({ ID: 'high', Priority: 90 });
    const delivery = await held();
    const NodeAllocation = placing(node, jobOf('high'));
    const by = NodeAllocation[node.ID]![0]!.ID;
    const NodePreemptions = { [node.ID]: [...first, ...second].map(({ ID }) => ({ ID, PreemptedByAllocation: by })) };
    const { AllocIndex } = await submits(planOf(delivery, { NodeAllocation, NodePreemptions }));
    const preempted = evals().filter((e) => e.TriggeredBy === 'preemption');
    expect(preempted.map((e) => `${e.JobID} ${e.CreateIndex}`).toSorted()).toEqual([
      `low-a ${AllocIndex}`,
      `low-b ${AllocIndex}`,
    ]);
    expect(preempted.flatMap((e) => [e.PreviousEval, e.NextEval, e.BlockedEval]).join('')).toBe('');
    expect(allocs().filter((a) => a.DesiredStatus === 'evict')).toHaveLength(3);
  });

  it('F39, EB-256: canaries on a rejected node are not named as placed', async () => {
    const [a, b] = [await addNode(), await addNode()];
    await placed(b, 1, { ID: 'full' });
    await register({ TaskGroups: [largeGroup(2)] });
    const delivery = await held();
    const NodeAllocation = { ...placing(a, jobOf(), 1, 0), ...placing(b, jobOf(), 1, 1) };
    const canaries = Object.values(NodeAllocation).flat();
    const Deployment = fixtures.aDeployment({
      JobCreateIndex: jobOf().CreateIndex,
      TaskGroups: { web: fixtures.aDeploymentState({ DesiredCanaries: 2, PlacedCanaries: canaries.map((x) => x.ID) }) },
    });
    for (const canary of canaries) {
      canary.DeploymentID = Deployment.ID;
      canary.DeploymentStatus = { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 };
    }
    const result = await submits(planOf(delivery, { NodeAllocation, Deployment }));
    expect(result.RejectedNodes).toEqual([b.ID]);
    const stored = tables().deployment.get(Deployment.ID);
    expect(stored?.TaskGroups['web']?.PlacedCanaries).toEqual([NodeAllocation[a.ID]![0]!.ID]);
  });

  it('F43, EB-239: planned for a version that was updated since, allocations are stored with the planned one', async () => {
    const node = await addNode();
    await register();
    const delivery = await held();
    const plan = planOf(delivery, { NodeAllocation: placing(node, jobOf()) });
    await register({ TaskGroups: [fixtures.aGroup({ Tasks: [fixtures.aTask({ Env: { NEW: '1' } })] })] });
    expect(jobOf().Version).toBe(1);
    await submits(plan);
    expect(allocs().map((x) => x.Job?.Version)).toEqual([0]);
    await completes(delivery);
    plane.addWorkers(1);
    await until('the update reached it', () => running().some((x) => x.Job?.Version === 1));
    await allEnded();
  });

  it('F44: a plan that only stops is applied although its job was purged while it waited', async () => {
    const node = await addNode();
    const [alloc] = await placed(node);
    await commitEval();
    const delivery = await held();
    const plan = planOf(delivery, { NodeUpdate: { [node.ID]: [stopOf(alloc!)] } });
    await stopJob(true);
    const outcome = await failing(submits(plan));
    if (tables().allocs.has(alloc!.ID)) {
      expect(outcome).toBe('it worked');
      expect(allocs().map((x) => x.DesiredStatus)).toEqual(['stop']);
    } else expect(outcome).toContain("doesn't exist"); // the purge took it along: nothing is left to stop
    await acks(delivery);
    plane.addWorkers(1);
    await allEnded();
    expect(counters()).toEqual(NOTHING);
  });
});
