import { encodeNode } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf, MAX_RUN_DURATION_EXCEEDED } from './events.js';
import { fixtures } from './fixtures.js';
import type { Applied } from './machine/state-machine.js';

const {
  aClientUpdate,
  aDeployment,
  aDeploymentState,
  aJob,
  aMachine,
  anAlloc,
  anEval,
  aNode,
  aPlanResult,
  aRegisteredJob,
  aRegistration,
  apply,
  timeNs,
} = fixtures;
const events = (applied: Applied) => eventsOf(applied)?.Events ?? [];
const seen = (applied: Applied) => events(applied).map((event) => `${event.Topic} ${event.Type}`);

describe('which events a transaction produces', () => {
  it('API-405, API-402, EV-5 ND-175: a registration with its evaluation is two events on one line', () => {
    const machine = aMachine();
    const Eval = anEval();
    const applied = apply(machine, 'JobRegister', aRegistration(aJob(), { Eval }));
    expect(eventsOf(applied)).toMatchObject({ Index: 2, Time: timeNs });
    expect(seen(applied)).toEqual(['Job JobRegistered', 'Evaluation JobRegistered']);
    expect(events(applied)[1]).toEqual({
      Topic: 'Evaluation',
      Type: 'JobRegistered',
      Key: Eval.ID,
      Namespace: 'default',
      FilterKeys: ['web', ''],
      Index: 2,
      Payload: { Evaluation: expect.objectContaining({ ID: Eval.ID }) },
    });
  });

  it('API-407, EV-5 EV-4: a plan with two allocations for a pending job with a deployment is five events', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const AllocsUpdated = [anAlloc({ Job: job }), anAlloc({ Job: job })];
    const applied = apply(
      machine,
      'ApplyPlanResults',
      aPlanResult({ Job: job, AllocsUpdated, Deployment: aDeployment(), EvalID: evaluation.ID }),
    );
    expect(seen(applied).toSorted()).toEqual([
      'Allocation PlanResult',
      'Allocation PlanResult',
      'Deployment PlanResult',
      'Evaluation PlanResult',
      'Job PlanResult',
    ]);
  });

  it('API-405, EV-5 EV-8: a status update of a deployment is one event, with its evaluation two, deployment first', () => {
    const machine = aMachine();
    const { evaluation } = aRegisteredJob(machine);
    const deployment = aDeployment({ TaskGroups: { web: aDeploymentState() } });
    apply(machine, 'ApplyPlanResults', aPlanResult({ EvalID: evaluation.ID, Deployment: deployment }));
    const update = (Status: 'paused' | 'running', Eval: typeof evaluation | null) =>
      apply(machine, 'DeploymentStatusUpdate', {
        Update: { DeploymentID: deployment.ID, Status, StatusDescription: '' },
        UpdatedAt: timeNs,
        Eval,
        Job: null,
        RevertSuffix: '',
        TrackedVersions: 6,
      });
    expect(seen(update('paused', null))).toEqual(['Deployment DeploymentStatusUpdate']);
    const resumed = update('running', anEval());
    expect(seen(resumed)).toEqual(['Deployment DeploymentStatusUpdate', 'Evaluation DeploymentStatusUpdate']);
    expect(Object.keys(events(resumed)[0]!.Payload)).toEqual(['Deployment']);
    expect(events(resumed)[0]!.FilterKeys).toEqual(['web']);
  });

  it('EV-5: a desired transition of one allocation with its evaluation is two events, node events one per node', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const alloc = anAlloc({ Job: job });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    const transition = apply(machine, 'AllocUpdateDesiredTransition', {
      Transitions: { [alloc.ID]: { ...alloc.DesiredTransition, Migrate: true } },
      Evals: [anEval()],
    });
    expect(seen(transition)).toEqual([
      'Allocation AllocationUpdateDesiredStatus',
      'Evaluation AllocationUpdateDesiredStatus',
    ]);
    const nodes = [aNode(), aNode()];
    for (const Node of nodes) apply(machine, 'NodeRegister', { Node, CreateNodePool: false });
    const event = { Message: 'm', Subsystem: 'Driver' as const, Details: null, Timestamp: null, CreateIndex: 0 };
    const NodeEvents = Object.fromEntries(nodes.map((node) => [node.ID, [event]]));
    expect(seen(apply(machine, 'UpsertNodeEvents', { NodeEvents }))).toEqual([
      'Node NodeStreamEvent',
      'Node NodeStreamEvent',
    ]);
  });

  it('EV-2: versions, summaries, submissions, namespaces and configuration are no events', () => {
    const machine = aMachine();
    const applied = apply(machine, 'JobRegister', aRegistration(aJob()));
    expect(applied.changes.map((change) => change.table)).toEqual(['jobs', 'job_summary', 'job_version']);
    expect(seen(applied)).toEqual(['Job JobRegistered']);
  });

  it('EV-4 ND-179: everything an agent’s report changes carries its type', () => {
    const machine = aMachine();
    const node = aNode();
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const { job, evaluation } = aRegisteredJob(machine);
    const alloc = anAlloc({ Job: job, NodeID: node.ID });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    const ended = apply(machine, 'AllocClientUpdate', {
      Allocs: [aClientUpdate(alloc, { ClientStatus: 'failed' })],
      Evals: [],
    });
    expect(seen(ended)).toEqual(['Allocation AllocationUpdated', 'Job AllocationUpdated', 'Node AllocationUpdated']);
  });

  it('API-401, EV-6: a rejected or empty transaction gives no line', () => {
    const machine = aMachine();
    expect(eventsOf(apply(machine, 'NodeDeregister', { NodeID: 'gone' }))).toBeNull();
    expect(eventsOf(apply(machine, 'EvalUpdate', { Evals: [] }))).toBeNull();
  });

  it('API-405, EV-9 EV-10 ND-173: a deleted node is sent as it was, deleted evaluations and allocations are not', () => {
    const machine = aMachine();
    const node = aNode();
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const before = machine.tables.nodes.get(node.ID)!;
    const [event] = events(apply(machine, 'NodeDeregister', { NodeID: node.ID }));
    expect(event).toMatchObject({ Type: 'NodeDeregistration', Key: node.ID, Namespace: '', FilterKeys: null });
    expect(event!.Payload).toEqual({ Node: encodeNode(before) });
    const { job, evaluation } = aRegisteredJob(machine);
    const alloc = anAlloc({ Job: job });
    apply(
      machine,
      'ApplyPlanResults',
      aPlanResult({ AllocsUpdated: [alloc], Deployment: aDeployment(), EvalID: evaluation.ID }),
    );
    const purge = { JobID: 'web', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    const purged = apply(machine, 'JobDeregister', purge, { namespace: 'default' });
    expect(seen(purged)).toEqual(['Job JobDeregistered', 'Evaluation JobDeregistered']);
  });

  it('EV-13: a frame does not change with what happens later', () => {
    const machine = aMachine();
    const applied = apply(machine, 'JobRegister', aRegistration(aJob()));
    const text = JSON.stringify(eventsOf(applied));
    apply(machine, 'JobRegister', aRegistration(aJob({ Priority: 99 })));
    expect(JSON.stringify(eventsOf(applied))).toBe(text);
  });
});

describe('payloads', () => {
  it('EV-51 ND-172: a node shows Drain and hides its secret, the stored row keeps it', () => {
    const machine = aMachine();
    const node = aNode();
    const applied = apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    expect(events(applied)[0]!.Payload['Node']).toMatchObject({ SecretID: '', Drain: false });
    expect(JSON.stringify(eventsOf(applied))).not.toContain(node.SecretID);
    expect(machine.tables.nodes.get(node.ID)!.SecretID).toBe(node.SecretID);
  });

  it('API-405, ND-174: an allocation comes without its job, and says so when its time ran out', () => {
    const machine = aMachine();
    const { job, evaluation } = aRegisteredJob(machine);
    const alloc = anAlloc({ Job: job });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [alloc], EvalID: evaluation.ID }));
    const report = (over: object) =>
      events(apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(alloc, over)], Evals: [] }))[0]!;
    const running = report({});
    expect(running).toMatchObject({ Topic: 'Allocation', FilterKeys: ['web', ''] });
    expect(Object.keys(running.Payload)).toEqual(['Allocation']);
    expect(running.Payload['Allocation']).not.toHaveProperty('Job');
    const failed = report({ ClientStatus: 'failed', ClientDescription: MAX_RUN_DURATION_EXCEEDED });
    expect(Object.keys(failed.Payload)).toEqual(['Allocation']);
    expect(Object.keys(report({ ClientStatus: 'complete' }).Payload)).toEqual(['Allocation']);
    expect(report({ ClientStatus: 'complete', ClientDescription: MAX_RUN_DURATION_EXCEEDED }).Payload).toMatchObject({
      Timeout: true,
      TimeoutReason: 'allocation exceeded max_run_duration',
    });
  });
});
