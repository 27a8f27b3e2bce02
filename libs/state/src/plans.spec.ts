import type { Allocation, AllocMetric, Deployment } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from './catalogue.js';
import { fixtures } from './fixtures.js';
import type { StateMachine } from './state-machine.js';

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
  apply,
  timeNs,
} = fixtures;

/** A registered job and a way to apply plans for its evaluation. */
function cluster(given = aJob()) {
  const machine = aMachine();
  const { job, evaluation } = aRegisteredJob(machine, given);
  const plan = (over: Partial<TxnPayloads['ApplyPlanResults']>) =>
    apply(machine, 'ApplyPlanResults', aPlanResult({ Job: job, EvalID: evaluation.ID, ...over }));
  return { machine, job, evaluation, plan };
}

const alloc = (machine: StateMachine, { ID }: { ID: string }): Allocation => machine.tables.allocs.get(ID)!;
const deployment = (machine: StateMachine, { ID }: { ID: string }): Deployment => machine.tables.deployment.get(ID)!;

describe('plan results', () => {
  it('ST-112: rows change in the order of the plan', () => {
    const { machine, job, plan } = cluster();
    const node = aNode();
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const [stays, goes] = [anAlloc({ Job: job }), anAlloc({ Job: job })];
    plan({ AllocsUpdated: [stays, goes] });
    const applied = plan({
      IneligibleNodes: [node.ID],
      Deployment: aDeployment(),
      AllocsUpdated: [anAlloc({ Job: job })],
      AllocsStopped: [{ ID: stays.ID, DesiredDescription: '', ClientStatus: '', FollowupEvalID: '' }],
      AllocsPreempted: [{ ID: goes.ID, PreemptedByAllocation: 'x' }],
      PreemptionEvals: [anEval({ TriggeredBy: 'preemption' })],
      FollowupEvals: [anEval({ TriggeredBy: 'alloc-failure' })],
    });
    const order = applied.changes.map((change) => change.table).filter((table) => table !== 'job_summary');
    expect(order).toEqual(['nodes', 'deployment', 'evals', 'allocs', 'allocs', 'allocs', 'evals', 'evals']);
    expect([alloc(machine, stays).DesiredStatus, alloc(machine, goes).DesiredStatus]).toEqual(['stop', 'evict']);
  });

  it('ST-113 EB-269: rejected nodes become ineligible, one that is gone is skipped', () => {
    const { machine, plan } = cluster();
    const node = aNode();
    apply(machine, 'NodeRegister', { Node: node, CreateNodePool: false });
    const { verdict, index } = plan({ IneligibleNodes: ['gone', node.ID], UpdatedAt: timeNs + 1_500_000_000 });
    expect(verdict.kind).toBe('accepted');
    const stored = machine.tables.nodes.get(node.ID)!;
    expect(stored).toMatchObject({
      SchedulingEligibility: 'ineligible',
      StatusUpdatedAt: timeNs / 1e9 + 1,
      ModifyIndex: index,
    });
    expect(stored.Events.at(-1)).toMatchObject({
      Subsystem: 'Scheduler',
      Message:
        'Node marked as ineligible for scheduling due to multiple plan rejections, refer to https://developer.hashicorp.com/nomad/s/port-plan-failure for more information',
      Timestamp: '2026-01-01T00:00:01.500Z',
      CreateIndex: index,
    });
  });

  it('ST-116 EB-272: the evaluation gets the index and nothing else; a missing one refuses the plan', () => {
    const { machine, evaluation, plan } = cluster();
    const { index } = plan({});
    expect(machine.tables.evals.get(evaluation.ID)).toEqual({ ...evaluation, ModifyIndex: index });
    const AllocsUpdated = [anAlloc()];
    expect(plan({ EvalID: 'gone', AllocsUpdated }).verdict).toEqual({
      kind: 'refused',
      error: 'unable to find eval id "gone"',
    });
    expect(machine.tables.allocs.size).toBe(0);
  });

  it('ST-117 ST-122: a new allocation gets its indexes, times and the job of the plan', () => {
    const { machine, job, plan } = cluster();
    const placed = anAlloc({ JobID: 'web', Job: null, CreateTime: 0, ModifyTime: 0 });
    const { index } = plan({ AllocsUpdated: [placed], UpdatedAt: 99 });
    expect(alloc(machine, placed)).toMatchObject({
      CreateIndex: index,
      ModifyIndex: index,
      AllocModifyIndex: index,
      CreateTime: 99,
      ModifyTime: 99,
    });
    expect(alloc(machine, placed).Job).toBe(job);
    const own = anAlloc({ Job: { ...job, Version: 7 } });
    plan({ AllocsUpdated: [own], UpdatedAt: 100 });
    expect(alloc(machine, own).Job!.Version).toBe(7);
    plan({ AllocsUpdated: [alloc(machine, placed)], UpdatedAt: 120 });
    expect(alloc(machine, placed)).toMatchObject({ CreateTime: 99, ModifyTime: 120, CreateIndex: index });
  });

  it('ST-117: without a job it is refused', () => {
    const { machine, plan } = cluster();
    const placed = anAlloc({ JobID: 'web', Job: null });
    expect(plan({ Job: null, AllocsUpdated: [placed] }).verdict).toEqual({
      kind: 'refused',
      error: `attempting to upsert allocation "${placed.ID}" without a job`,
    });
    expect(machine.tables.allocs.size).toBe(0);
  });

  it('ST-117 ST-171: nothing is placed for a job that was stopped or purged meanwhile, the rest is applied', () => {
    for (const Purge of [false, true]) {
      const { machine, job, plan } = cluster();
      const other = aRegisteredJob(machine, aJob({ ID: 'api' })).job;
      const stop = { JobID: 'web', Purge, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
      apply(machine, 'JobDeregister', stop, { namespace: 'default' });
      const [late, fine] = [anAlloc({ Job: job }), anAlloc({ Job: other })];
      expect(plan({ AllocsUpdated: [late, fine] }).verdict.kind).toBe('accepted');
      expect(machine.tables.allocs.has(late.ID)).toBe(false);
      expect(machine.tables.allocs.has(fine.ID)).toBe(true);
    }
  });

  it('ST-118 EB-276: a known allocation keeps what its agent owns', () => {
    const { machine, job, plan } = cluster();
    const first = anAlloc({ Job: job });
    plan({ AllocsUpdated: [first] });
    const TaskStates: Allocation['TaskStates'] = {
      web: {
        State: 'running',
        Failed: false,
        Restarts: 0,
        LastRestart: null,
        StartedAt: null,
        FinishedAt: null,
        Events: [],
        Paused: '',
      },
    };
    apply(machine, 'AllocClientUpdate', {
      Allocs: [aClientUpdate(first, { TaskStates, ClientDescription: 'up' })],
      Evals: [],
    });
    const planned = { ...first, Job: null, DesiredDescription: 'in place', ClientStatus: 'pending' as const };
    const { index } = plan({ AllocsUpdated: [planned] });
    expect(alloc(machine, first)).toMatchObject({
      DesiredDescription: 'in place',
      TaskStates,
      ClientStatus: 'running',
      ClientDescription: 'up',
      ModifyIndex: index,
      AllocModifyIndex: index,
    });
    expect(alloc(machine, first).Job).toBe(first.Job);
    plan({ AllocsUpdated: [{ ...planned, ClientStatus: 'unknown', ClientDescription: 'gone quiet' }] });
    expect(alloc(machine, first)).toMatchObject({
      ClientStatus: 'unknown',
      ClientDescription: 'gone quiet',
      TaskStates,
    });
  });

  it('ST-118 ST-110: a stop sets what it carries and appends to the states, the rest stays', () => {
    const { machine, job, plan } = cluster();
    const tracker = { Events: [], LastReschedule: 'ok' };
    const first = anAlloc({
      Job: job,
      FollowupEvalID: 'f',
      RescheduleTracker: tracker,
      AllocStates: [{ Field: 0, Value: 'unknown', Time: null }],
    });
    plan({ AllocsUpdated: [first] });
    plan({ AllocsStopped: [{ ID: first.ID, DesiredDescription: 'gone', ClientStatus: '', FollowupEvalID: '' }] });
    const kept = { DesiredStatus: 'stop', DesiredDescription: 'gone', FollowupEvalID: 'f', RescheduleTracker: tracker };
    expect(alloc(machine, first)).toMatchObject({ ...kept, ClientStatus: 'pending', AllocStates: first.AllocStates });
    plan({
      AllocsStopped: [
        {
          ID: first.ID,
          DesiredDescription: 'lost',
          ClientStatus: 'lost',
          FollowupEvalID: 'g',
          RescheduleTracker: null,
          AllocStates: [{ Field: 0, Value: 'lost', Time: null }],
        },
      ],
    });
    expect(alloc(machine, first)).toMatchObject({ ClientStatus: 'lost', FollowupEvalID: 'g', RescheduleTracker: null });
    expect(alloc(machine, first).AllocStates.map((entry) => entry.Value)).toEqual(['unknown', 'lost']);
  });

  it('ST-118: a preemption evicts; a diff for an allocation that is gone refuses the plan', () => {
    const { machine, job, plan } = cluster();
    const first = anAlloc({ Job: job });
    plan({ AllocsUpdated: [first] });
    plan({ AllocsPreempted: [{ ID: first.ID, PreemptedByAllocation: 'winner' }] });
    expect(alloc(machine, first)).toMatchObject({
      DesiredStatus: 'evict',
      PreemptedByAllocation: 'winner',
      DesiredDescription: 'Preempted by alloc ID winner',
    });
    const gone = { kind: 'refused', error: "alloc gone doesn't exist" };
    expect(plan({ AllocsPreempted: [{ ID: 'gone', PreemptedByAllocation: 'x' }] }).verdict).toEqual(gone);
    const stop = { ID: 'gone', DesiredDescription: '', ClientStatus: '' as const, FollowupEvalID: '' };
    expect(plan({ AllocsStopped: [stop] }).verdict).toEqual(gone);
  });

  it('ST-107: an allocation that the scheduler gives up as lost loses its services', () => {
    const { machine, job, plan } = cluster();
    const first = anAlloc({ Job: job });
    plan({ AllocsUpdated: [first] });
    const service = fixtures.aServiceRegistration({ AllocID: first.ID });
    machine.tables.service_registrations.replace(`default/${service.ID}`, service);
    plan({ AllocsUpdated: [{ ...first, ClientStatus: 'lost' }] });
    expect(machine.tables.service_registrations.size).toBe(0);
  });

  it('ST-121 ST-25: the replaced allocation is linked; its ModifyIndex moves, AllocModifyIndex does not', () => {
    const { machine, job, plan } = cluster();
    const old = anAlloc({ Job: job });
    const first = plan({ AllocsUpdated: [old] });
    const replacement = anAlloc({ Job: job, PreviousAllocation: old.ID });
    const second = plan({ AllocsUpdated: [replacement] });
    expect(alloc(machine, old)).toMatchObject({
      NextAllocation: replacement.ID,
      ModifyIndex: second.index,
      AllocModifyIndex: first.index,
    });
  });

  it('ST-73: the evaluations of a plan do not move the status of their jobs', () => {
    const { machine, evaluation, plan } = cluster();
    apply(machine, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'complete' }] });
    plan({ FollowupEvals: [anEval()], PreemptionEvals: [anEval()] });
    expect(machine.tables.jobs.get('default/web')!.Status).toBe('dead');
  });
});

describe('the deployment of a plan', () => {
  const running = () =>
    aDeployment({ TaskGroups: { web: aDeploymentState({ DesiredCanaries: 1 }), api: aDeploymentState() } });

  it('ST-114 ST-172 DP-123: counters that allocations own win over the copy in the plan', () => {
    const { machine, job, plan } = cluster();
    const planned = running();
    const placed = anAlloc({ Job: job, DeploymentID: planned.ID });
    plan({ Deployment: planned, AllocsUpdated: [placed] });
    const health = { Healthy: true, Timestamp: '2026-01-01T00:00:05Z' };
    apply(machine, 'AllocClientUpdate', { Allocs: [aClientUpdate(placed, { DeploymentStatus: health })], Evals: [] });
    const before = deployment(machine, planned);
    expect(before.TaskGroups['web']).toMatchObject({ PlacedAllocs: 1, HealthyAllocs: 1 });
    plan({
      Deployment: { ...planned, TaskGroups: { web: aDeploymentState({ DesiredCanaries: 1, DesiredTotal: 5 }) } },
    });
    const after = deployment(machine, planned);
    expect(after.TaskGroups['web']).toEqual({ ...before.TaskGroups['web'], DesiredTotal: 5 });
    expect(after.TaskGroups['api']).toEqual(before.TaskGroups['api']);
    expect(after.CreateIndex).toBe(before.CreateIndex);
  });

  it('ST-114 DP-125: its status changes only through the updates', () => {
    const { machine, plan } = cluster();
    const planned = running();
    plan({ Deployment: planned });
    plan({ DeploymentUpdates: [{ DeploymentID: planned.ID, Status: 'paused', StatusDescription: 'paused' }] });
    plan({ Deployment: { ...planned, Status: 'running', StatusDescription: 'x' } });
    expect(deployment(machine, planned)).toMatchObject({ Status: 'paused', StatusDescription: 'paused' });
  });

  it('ST-114 ST-173 DP-124: a promotion cannot be undone, and canaries survive', () => {
    const { machine, job, plan } = cluster();
    const planned = running();
    const canary = anAlloc({
      Job: job,
      DeploymentID: planned.ID,
      DeploymentStatus: { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 },
    });
    plan({ Deployment: planned, AllocsUpdated: [canary] });
    const web = { ...deployment(machine, planned).TaskGroups['web']!, Promoted: true };
    plan({ Deployment: { ...planned, TaskGroups: { web } } });
    const undone = { ...planned, TaskGroups: { web: { ...web, Promoted: false } } };
    expect(plan({ Deployment: undone }).verdict).toEqual({
      kind: 'refused',
      error: 'deployment promotion cannot be undone',
    });
    plan({ Deployment: { ...planned, TaskGroups: { web: { ...web, PlacedCanaries: [] } } } });
    expect(deployment(machine, planned).TaskGroups['web']).toMatchObject({
      Promoted: true,
      PlacedCanaries: [canary.ID],
    });
  });

  it('ST-115 DP-126: updates get the time of the plan; a missing or terminal one is skipped', () => {
    const { machine, plan } = cluster();
    const planned = running();
    plan({ Deployment: planned });
    const cancel = { DeploymentID: planned.ID, Status: 'cancelled' as const, StatusDescription: 'newer' };
    plan({ DeploymentUpdates: [{ ...cancel, DeploymentID: 'gone' }, cancel], UpdatedAt: 77 });
    expect(deployment(machine, planned)).toMatchObject({ Status: 'cancelled', ModifyTime: 77 });
    const late = plan({ DeploymentUpdates: [{ ...cancel, Status: 'running' }] });
    expect(late.verdict.kind).toBe('accepted');
    expect(deployment(machine, planned).Status).toBe('cancelled');
  });
});

describe('deployment counters', () => {
  const PD = 600e9;

  function deployed(over: Partial<Allocation> = {}) {
    const made = cluster();
    const planned = aDeployment({ TaskGroups: { web: aDeploymentState({ ProgressDeadline: PD }) } });
    const placed = anAlloc({ Job: made.job, DeploymentID: planned.ID, ...over });
    made.plan({ Deployment: planned, AllocsUpdated: [placed] });
    const report = (Healthy: boolean, Timestamp = '2026-01-01T00:01:00Z') =>
      apply(made.machine, 'AllocClientUpdate', {
        Allocs: [aClientUpdate(placed, { DeploymentStatus: { Healthy, Timestamp }, ModifyTime: timeNs + 60e9 })],
        Evals: [],
      });
    return { ...made, planned, placed, report, state: () => deployment(made.machine, planned).TaskGroups['web']! };
  }

  it('ST-119: a placement counts as that only, even if it carries health', () => {
    const health = { Healthy: true, Timestamp: '2026-01-01T00:00:00Z', Canary: true, ModifyIndex: 0 };
    const { state, placed, report, machine, planned } = deployed({ DeploymentStatus: health });
    expect(state()).toMatchObject({ PlacedAllocs: 1, HealthyAllocs: 0, PlacedCanaries: [placed.ID] });
    expect(deployment(machine, planned).ModifyTime).toBe(timeNs);
    report(false);
    expect(state()).toMatchObject({ PlacedAllocs: 1, PlacedCanaries: [placed.ID] });
  });

  it('ST-119: health appears and is lost, and does not come back', () => {
    const { state, report, machine, planned } = deployed();
    report(true);
    expect(state()).toMatchObject({ HealthyAllocs: 1, UnhealthyAllocs: 0 });
    expect(deployment(machine, planned).ModifyTime).toBe(timeNs + 60e9);
    report(true);
    expect(state()).toMatchObject({ HealthyAllocs: 1, UnhealthyAllocs: 0 });
    report(false);
    expect(state()).toMatchObject({ HealthyAllocs: 0, UnhealthyAllocs: 1 });
    report(true);
    expect(state()).toMatchObject({ HealthyAllocs: 0, UnhealthyAllocs: 1 });
    const ill = deployed();
    ill.report(false);
    expect(ill.state()).toMatchObject({ HealthyAllocs: 0, UnhealthyAllocs: 1 });
  });

  it('ST-119: moving to another deployment is a placement there, with health to be proven anew', () => {
    const { plan, machine, placed, report } = deployed();
    report(true);
    const next = aDeployment();
    plan({ Deployment: next, AllocsUpdated: [{ ...placed, DeploymentID: next.ID, DeploymentStatus: null }] });
    expect(deployment(machine, next).TaskGroups['web']).toMatchObject({ PlacedAllocs: 1, HealthyAllocs: 0 });
    expect(alloc(machine, placed).DeploymentStatus).toBeNull();
  });

  it('ST-120 DP-503: the deadline starts with the first placement, moves with health, never back', () => {
    const { state, report, plan, job, planned } = deployed();
    expect(state().RequireProgressBy).toBe('2026-01-01T00:10:00.000Z');
    plan({ AllocsUpdated: [anAlloc({ Job: job, DeploymentID: planned.ID })], UpdatedAt: timeNs + 500e9 });
    expect(state().RequireProgressBy).toBe('2026-01-01T00:10:00.000Z');
    report(true, '2026-01-01T00:01:00Z');
    expect(state().RequireProgressBy).toBe('2026-01-01T00:11:00.000Z');
    report(false, '2026-01-01T00:05:00Z');
    expect(state().RequireProgressBy).toBe('2026-01-01T00:11:00.000Z');
    const early = deployed();
    early.report(true, '2025-12-31T23:00:00Z');
    expect(early.state().RequireProgressBy).toBe('2026-01-01T00:10:00.000Z');
  });

  it('ST-120 DP-501: without a deadline none is set', () => {
    const { plan, job, machine } = cluster();
    const planned = aDeployment({ TaskGroups: { web: aDeploymentState({ ProgressDeadline: 0 }) } });
    plan({ Deployment: planned, AllocsUpdated: [anAlloc({ Job: job, DeploymentID: planned.ID })] });
    expect(deployment(machine, planned).TaskGroups['web']!.RequireProgressBy).toBeNull();
  });

  it('ST-93: a complete evaluation with failed groups leaves its blocked one', () => {
    const { machine, evaluation } = cluster();
    const blocked = anEval({ Status: 'blocked', PreviousEval: evaluation.ID });
    const failed = { web: {} as AllocMetric };
    apply(machine, 'EvalUpdate', {
      Evals: [blocked, { ...evaluation, Status: 'complete', FailedTGAllocs: failed, BlockedEval: blocked.ID }],
    });
    expect(machine.tables.evals.get(blocked.ID)!.Status).toBe('blocked');
    expect(machine.tables.jobs.get('default/web')!.Status).toBe('pending');
  });
});
