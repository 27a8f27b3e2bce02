import {
  type Allocation,
  type AllocStateEntry,
  type ClientAllocUpdate,
  type Job,
  type Evaluation,
  newTaskEvent,
  type TaskEvent,
  type TaskState,
} from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const { aClientUpdate, aMachine, anAlloc, anEval, aNode, aPlanResult, aRegisteredJob, aServiceRegistration, apply } =
  fixtures;
const UNKNOWN: AllocStateEntry[] = [{ Field: 0, Value: 'unknown', Time: '2026-01-01T00:00:00Z' }];

function cluster(allocs: Partial<Allocation>[] = [{}], over: Partial<Job> = {}) {
  const machine = aMachine();
  const node = aNode();
  apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
  const { job, evaluation } = aRegisteredJob(machine, fixtures.aJob(over));
  const placed = allocs.map((over) => anAlloc({ Job: job, NodeID: node.ID, ...over }));
  apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: placed, EvalID: evaluation.ID }));
  return { machine, node, job, evaluation, placed, alloc: placed[0]! };
}

const report = (machine: StateMachine, Allocs: ClientAllocUpdate[], Evals: Evaluation[] = []) =>
  apply(machine, 'AllocClientUpdate', { Allocs, Evals });
const row = (machine: StateMachine, { ID }: { ID: string }) => machine.tables.allocs.get(ID)!;

function setStatus(machine: StateMachine, NodeID: string, Status: 'down' | 'disconnected' | 'ready') {
  apply(machine, 'NodeUpdateStatus', { NodeID, Status, UpdatedAt: 1, NodeEvent: null, IdentitySigningKeyID: '' });
}

describe('updates from agents', () => {
  it('ST-100 ST-174: an unknown allocation is ignored, the rest applied; an empty batch is a no-op', () => {
    const { machine, alloc } = cluster();
    const gone = { ID: 'gone', NodeID: alloc.NodeID };
    expect(report(machine, [aClientUpdate(gone), aClientUpdate(alloc)]).verdict.kind).toBe('accepted');
    expect(row(machine, alloc).ClientStatus).toBe('running');
    expect(machine.tables.allocs.has('gone')).toBe(false);
    expect(report(machine, []).verdict).toEqual({ kind: 'noop' });
  });

  it('ST-101, ND-40: a report of another node changes nothing of an allocation, whoever let it into the log', () => {
    const { machine, alloc } = cluster();
    const other = aNode();
    apply(machine, 'NodeRegister', { Node: other, CreateNodePool: false });
    const before = row(machine, alloc);
    const update = aClientUpdate(alloc, { NodeID: other.ID, ClientStatus: 'failed' });
    report(machine, [update]);
    expect(row(machine, alloc)).toEqual(before);
  });

  it('ST-101 ST-103 ND-119: only what an agent may say is taken, and AllocModifyIndex stays', () => {
    const { machine, alloc } = cluster();
    const before = row(machine, alloc);
    const update = aClientUpdate(alloc, { ClientDescription: 'up', ModifyTime: 42 });
    const { index } = report(machine, [
      { ...update, DesiredStatus: 'stop', AllocStates: UNKNOWN } as ClientAllocUpdate,
    ]);
    expect(row(machine, alloc)).toEqual({
      ...before,
      ClientStatus: 'running',
      ClientDescription: 'up',
      ModifyTime: 42,
      ModifyIndex: index,
    });
    expect(before.AllocModifyIndex).toBeLessThan(index);
  });

  it('ST-102 ND-113 DP-309: health is taken when new or changed, and no news takes nothing back', () => {
    const { machine, alloc } = cluster();
    const say = (Healthy: boolean | null) => {
      const more = { Canary: true, ModifyIndex: 1_000_000 }; // not the agent's to say
      const DeploymentStatus = { Healthy, Timestamp: '2026-01-01T00:00:01Z', ...more };
      return report(machine, [aClientUpdate(alloc, { DeploymentStatus })]).index;
    };
    const first = say(true);
    const healthy = { Healthy: true, Timestamp: '2026-01-01T00:00:01Z', Canary: false, ModifyIndex: first };
    expect(row(machine, alloc).DeploymentStatus).toEqual(healthy);
    say(true);
    say(null);
    report(machine, [aClientUpdate(alloc)]);
    expect(row(machine, alloc).DeploymentStatus).toEqual(healthy);
    const changed = say(false);
    expect(row(machine, alloc).DeploymentStatus).toMatchObject({ Healthy: false, ModifyIndex: changed });
  });

  it('ST-104: allocations, then evaluations, then job status, then nodes', () => {
    const { machine, alloc, evaluation } = cluster();
    report(machine, [aClientUpdate(alloc)]);
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    const applied = report(machine, [aClientUpdate(alloc, { ClientStatus: 'failed' })], [anEval()]);
    expect(eventsOf(applied)!.Events.map((event) => event.Topic)).toEqual(['Allocation', 'Evaluation', 'Job', 'Node']);
  });

  it('ST-105, SC-163: nodes that are down or disconnected are left out by name; if none is left it is refused', () => {
    const { machine, node, alloc, job, evaluation } = cluster();
    const other = aNode();
    apply(machine, 'NodeRegister', { Node: other, CreateNodePool: false });
    const onOther = anAlloc({ Job: job, NodeID: other.ID });
    apply(machine, 'ApplyPlanResults', aPlanResult({ AllocsUpdated: [onOther], EvalID: evaluation.ID }));
    for (const status of ['down', 'disconnected'] as const) {
      setStatus(machine, node.ID, status);
      const text = `node ${node.ID} is not allowed to update allocs while in status ${status}`;
      expect(report(machine, [aClientUpdate(alloc)]).verdict).toEqual({
        kind: 'refused',
        code: 'conflict',
        error: text,
      });
      const { verdict, index } = report(machine, [aClientUpdate(alloc), aClientUpdate(onOther)]);
      expect(verdict).toEqual({ kind: 'accepted', error: text, result: { RefusedNodes: { [node.ID]: text } } });
      expect(row(machine, alloc).ClientStatus).toBe('pending');
      expect(row(machine, onOther)).toMatchObject({ ClientStatus: 'running', ModifyIndex: index });
      expect(machine.tables.nodes.get(node.ID)!.LastAllocUpdateIndex).toBe(0);
    }
  });

  it('ND-223: an update that another one of its node has overtaken changes nothing, and names the other', () => {
    const { machine, node, alloc } = cluster();
    const after = (index: number, ClientStatus: 'running' | 'complete') =>
      apply(machine, 'AllocClientUpdate', {
        Allocs: [aClientUpdate(alloc, { ClientStatus })],
        Evals: [anEval()],
        After: { [node.ID]: index },
      });
    const { CreateIndex } = machine.tables.nodes.get(node.ID)!;
    const done = after(CreateIndex, 'complete');
    expect(done.verdict.kind).toBe('accepted');
    const late = after(CreateIndex, 'running');
    expect(late.verdict).toEqual({ kind: 'noop', result: { OvertakenNodes: { [node.ID]: done.index } } });
    expect(row(machine, alloc).ClientStatus).toBe('complete');
    expect(after(done.index, 'running').verdict.kind).toBe('accepted');
  });

  it('ND-223: one that a node sent before it was purged and registered anew is overtaken by that', () => {
    const { machine, node, alloc } = cluster();
    const first = machine.tables.nodes.get(node.ID)!.CreateIndex;
    apply(machine, 'NodeDeregister', { NodeID: node.ID });
    const anew = apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false }).index;
    for (const index of [0, first]) {
      const late = { Allocs: [aClientUpdate(alloc)], Evals: [], After: { [node.ID]: index } };
      expect(apply(machine, 'AllocClientUpdate', late).verdict).toMatchObject({
        kind: 'noop',
        result: { OvertakenNodes: { [node.ID]: anew } },
      });
    }
    const now = { Allocs: [aClientUpdate(alloc)], Evals: [], After: { [node.ID]: anew } };
    expect(apply(machine, 'AllocClientUpdate', now).verdict.kind).toBe('accepted');
  });

  it('ST-176: a reconnecting node is refused, heartbeats, and is heard', () => {
    const { machine, node, alloc } = cluster();
    setStatus(machine, node.ID, 'disconnected');
    expect(report(machine, [aClientUpdate(alloc)]).verdict.kind).toBe('refused');
    setStatus(machine, node.ID, 'ready');
    expect(report(machine, [aClientUpdate(alloc)]).verdict.kind).toBe('accepted');
  });

  it('ST-107 ND-116 ND-179: an allocation that ended loses its services, one that is unknown does not', () => {
    const { machine, alloc } = cluster();
    const service = aServiceRegistration({ AllocID: alloc.ID });
    machine.tables.service_registrations.replace(`default/${service.ID}`, service);
    for (const ClientStatus of ['running', 'unknown'] as const) {
      report(machine, [aClientUpdate(alloc, { ClientStatus })]);
      expect(machine.tables.service_registrations.size).toBe(1);
    }
    const applied = report(machine, [aClientUpdate(alloc, { ClientStatus: 'complete' })]);
    expect(machine.tables.service_registrations.size).toBe(0);
    const gone = eventsOf(applied)!.Events.find((event) => event.Topic === 'Service');
    expect(gone).toMatchObject({ Type: 'AllocationUpdated', Key: service.ID, FilterKeys: ['web', 'web'] });
  });

  it('ST-108: the node remembers the index, also when all its allocations were unknown', () => {
    const { machine, node } = cluster();
    setStatus(machine, node.ID, 'disconnected');
    setStatus(machine, node.ID, 'ready');
    const { index } = report(machine, [aClientUpdate({ ID: 'gone', NodeID: node.ID })]);
    expect(machine.tables.nodes.get(node.ID)!.LastAllocUpdateIndex).toBe(index);
  });

  it('ST-109: evaluations are stored although no allocation is reported', () => {
    const { machine } = cluster();
    const retry = anEval({ TriggeredBy: 'alloc-failure' });
    expect(report(machine, [], [retry]).verdict.kind).toBe('accepted');
    expect(machine.tables.evals.has(retry.ID)).toBe(true);
  });

  it('ST-109: the evaluations of the batch are stored and move the status of their jobs', () => {
    const { machine, alloc, evaluation } = cluster();
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    const retry = anEval({ TriggeredBy: 'alloc-failure' });
    report(machine, [aClientUpdate(alloc, { ClientStatus: 'failed' })], [retry]);
    expect(machine.tables.evals.get(retry.ID)!.Status).toBe('pending');
    expect(machine.tables.jobs.get('default/web')!.Status).toBe('pending');
  });
});

describe('reconnecting', () => {
  const followup = anEval({ TriggeredBy: 'max-disconnect-timeout' });
  const waiting: Partial<Allocation> = { FollowupEvalID: followup.ID, AllocStates: UNKNOWN };

  function disconnected(allocs: Partial<Allocation>[]) {
    const made = cluster(allocs);
    apply(made.machine, 'EvalUpdate', { Evals: [followup] });
    return made;
  }

  it('ST-106 EB-31 ND-122: the follow-up is cleared and cancelled when the allocation reports life', () => {
    for (const ClientStatus of ['running', 'complete', 'failed'] as const) {
      const { machine, alloc } = disconnected([waiting]);
      const { index } = report(machine, [aClientUpdate(alloc, { ClientStatus, ModifyTime: 9 })]);
      expect(row(machine, alloc)).toMatchObject({ FollowupEvalID: '', AllocStates: UNKNOWN });
      expect(machine.tables.evals.get(followup.ID)).toMatchObject({
        Status: 'canceled',
        StatusDescription: 'allocs reconnected',
        ModifyIndex: index,
        ModifyTime: 9,
      });
    }
  });

  it('SC-192: the timeout beside a follow-up for rescheduling is cancelled too, once nothing of the job is out of reach', () => {
    const timeout = anEval({ TriggeredBy: 'max-disconnect-timeout' });
    const later = anEval({ TriggeredBy: 'alloc-reschedule', Status: 'complete' });
    const away: Partial<Allocation> = { FollowupEvalID: later.ID, AllocStates: UNKNOWN, ClientStatus: 'unknown' };
    const { machine, placed } = cluster([away, away]);
    apply(machine, 'EvalUpdate', { Evals: [timeout, later] });
    const back = (at: number) => report(machine, [aClientUpdate(placed[at]!, { ClientStatus: 'complete' })]);
    back(0);
    expect(machine.tables.evals.get(timeout.ID)!.Status).toBe('pending');
    back(1);
    expect(machine.tables.evals.get(timeout.ID)).toMatchObject({
      Status: 'canceled',
      StatusDescription: 'allocs reconnected',
    });
  });

  it('SC-192: a batch job that ended while its machine was out of reach is dead when it is back', () => {
    const timeout = anEval({ Type: 'batch', TriggeredBy: 'max-disconnect-timeout' });
    const later = anEval({ Type: 'batch', TriggeredBy: 'alloc-reschedule', Status: 'complete' });
    const away: Partial<Allocation> = { FollowupEvalID: later.ID, AllocStates: UNKNOWN, ClientStatus: 'unknown' };
    const { machine, alloc, evaluation } = cluster([away], { Type: 'batch' });
    apply(machine, 'EvalUpdate', { Evals: [timeout, later, { ...evaluation, Status: 'complete' }] });
    report(machine, [aClientUpdate(alloc, { ClientStatus: 'complete' })]);
    expect(machine.tables.jobs.get('default/web')!.Status).toBe('dead');
  });

  it('AG-184, AG-407: a reconnect is known from AllocStates: whether its event was dropped, or the agent’s clock is an hour off', () => {
    const HOUR_NS = 3_600e9;
    const now = 1_767_225_600e9;
    const effectOf = (Events: TaskEvent[]) => {
      const { machine, alloc } = disconnected([waiting]);
      const web: TaskState = {
        State: 'running',
        Failed: false,
        Restarts: 0,
        LastRestart: null,
        StartedAt: null,
        FinishedAt: null,
        Paused: '',
        Events,
      };
      const { changes } = report(machine, [aClientUpdate(alloc, { TaskStates: { web } })]);
      const { ClientStatus, AllocStates, FollowupEvalID } = row(machine, alloc);
      const { Status } = machine.tables.evals.get(followup.ID)!;
      return { ClientStatus, AllocStates, FollowupEvalID, Status, tables: changes.map(({ table }) => table) };
    };
    const told = effectOf([newTaskEvent('Reconnected', now)]);
    expect(told).toMatchObject({ ClientStatus: 'running', FollowupEvalID: '', Status: 'canceled' });
    expect(effectOf([])).toEqual(told);
    for (const offset of [-HOUR_NS, HOUR_NS])
      expect(effectOf([newTaskEvent('Reconnected', now + offset)])).toEqual(told);
  });

  it('ST-106 ND-123: not while another allocation of the job waits, judged within the transaction', () => {
    const { machine, placed } = disconnected([waiting, waiting]);
    report(machine, [aClientUpdate(placed[0]!)]);
    expect(machine.tables.evals.get(followup.ID)!.Status).toBe('pending');
    const both = disconnected([waiting, waiting]);
    report(
      both.machine,
      both.placed.map((alloc) => aClientUpdate(alloc)),
    );
    expect(both.machine.tables.evals.get(followup.ID)!.Status).toBe('canceled');
  });

  it('ST-106: an allocation of another job that names the evaluation does not wait for it', () => {
    for (const other of [{ JobID: 'other' }, { Namespace: 'other' }]) {
      const { machine, alloc } = disconnected([waiting]);
      const theirs = anAlloc({ ...waiting, ID: 'theirs', JobID: alloc.JobID, ClientStatus: 'unknown', ...other });
      machine.tables.allocs.replace(theirs.ID, theirs);
      report(machine, [aClientUpdate(alloc)]);
      expect(machine.tables.evals.get(followup.ID)!.Status).toBe('canceled');
    }
  });

  it('ST-106 ND-122: not for an allocation that is not unknown, nor for a report of something else', () => {
    const known = disconnected([{ FollowupEvalID: followup.ID, AllocStates: [] }]);
    report(known.machine, [aClientUpdate(known.alloc)]);
    expect(row(known.machine, known.alloc).FollowupEvalID).toBe(followup.ID);
    const { machine, alloc } = disconnected([waiting]);
    report(machine, [aClientUpdate(alloc, { ClientStatus: 'pending' })]);
    expect(machine.tables.evals.get(followup.ID)!.Status).toBe('pending');
  });

  it('ST-106: no reconnect without a follow-up, and none of an allocation that was heard of since', () => {
    const heard: AllocStateEntry = { Field: 0, Value: 'running', Time: '2026-01-01T00:00:01Z' };
    const other: AllocStateEntry = { Field: 1, Value: 'reason', Time: '2026-01-01T00:00:02Z' };
    const back = (over: Partial<Allocation>) => {
      const { machine, alloc } = disconnected([{ ...waiting, ...over }]);
      report(machine, [aClientUpdate(alloc)]);
      return machine.tables.evals.get(followup.ID)!.Status;
    };
    expect(back({ FollowupEvalID: '' })).toBe('pending');
    expect(back({ AllocStates: [...UNKNOWN, heard] })).toBe('pending');
    expect(back({ AllocStates: [...UNKNOWN, other] })).toBe('canceled');
  });

  it('ST-106: only an allocation of the same job that still lives keeps the follow-up', () => {
    const back = (over: Partial<Allocation>) => {
      const { machine, alloc, job, evaluation } = disconnected([waiting]);
      const awaiting = anAlloc({ Job: job, NodeID: alloc.NodeID, ...waiting, ...over });
      apply(machine, 'ApplyPlanResults', aPlanResult({ Job: job, AllocsUpdated: [awaiting], EvalID: evaluation.ID }));
      machine.tables.allocs.replace(awaiting.ID, { ...row(machine, awaiting), ...over });
      report(machine, [aClientUpdate(alloc)]);
      return machine.tables.evals.get(followup.ID)!.Status;
    };
    expect(back({})).toBe('pending');
    expect(back({ DesiredStatus: 'stop' })).toBe('canceled');
    expect(back({ JobID: 'other' })).toBe('canceled');
    expect(back({ Namespace: 'other' })).toBe('canceled');
  });

  it('SC-192: an allocation that was told to stop while it was out of reach keeps no timeout', () => {
    const timeout = anEval({ TriggeredBy: 'max-disconnect-timeout' });
    const other = anEval({ TriggeredBy: 'alloc-failure' });
    const later = anEval({ TriggeredBy: 'alloc-reschedule', Status: 'complete' });
    const away: Partial<Allocation> = { FollowupEvalID: later.ID, AllocStates: UNKNOWN, ClientStatus: 'unknown' };
    const { machine, placed } = cluster([away, { ...away, DesiredStatus: 'stop' }, { ClientStatus: 'running' }]);
    apply(machine, 'EvalUpdate', { Evals: [timeout, other, later] });
    report(machine, [aClientUpdate(placed[0]!)]);
    const statuses = [timeout, other, later].map(({ ID }) => machine.tables.evals.get(ID)!.Status);
    expect(statuses).toEqual(['canceled', 'pending', 'complete']);
  });

  it('ST-106 ND-123: a deleted or finished follow-up is left as it is', () => {
    const { machine, alloc } = cluster([waiting]);
    expect(report(machine, [aClientUpdate(alloc)]).verdict.kind).toBe('accepted');
    const done = cluster([waiting]);
    apply(done.machine, 'EvalUpdate', { Evals: [{ ...followup, Status: 'complete' }] });
    const { index } = report(done.machine, [aClientUpdate(done.alloc)]);
    expect(done.machine.tables.evals.get(followup.ID)).toMatchObject({ Status: 'complete', ModifyIndex: index - 1 });
  });
});

describe('desired transitions', () => {
  it('ST-111: what is not null overwrites, unknown allocations are ignored, both indexes move', () => {
    const { machine, alloc } = cluster();
    const none = alloc.DesiredTransition;
    const transition = (over: Partial<typeof none>, id = alloc.ID) =>
      apply(machine, 'AllocUpdateDesiredTransition', { Transitions: { [id]: { ...none, ...over } }, Evals: [] });
    const all = {
      Migrate: true,
      Reschedule: true,
      ForceReschedule: true,
      NoShutdownDelay: true,
      MigrateDisablePlacement: true,
    };
    transition(all);
    for (const member of Object.keys(all) as (keyof typeof all)[]) {
      const { index } = transition({ [member]: false });
      expect(row(machine, alloc)).toMatchObject({
        DesiredTransition: { ...all, [member]: false },
        ModifyIndex: index,
        AllocModifyIndex: index,
      });
      transition({ [member]: true });
    }
    expect(transition({ Migrate: true }, 'gone').verdict.kind).toBe('noop');
  });
});
