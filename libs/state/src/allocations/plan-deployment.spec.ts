import type { Allocation, AllocMetric, Deployment } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import type { TxnPayloads } from '../log/catalogue.js';
import { fixtures } from '../fixtures.js';
import type { StateMachine } from '../machine/state-machine.js';

const {
  aClientUpdate,
  aDeployment,
  aDeploymentState,
  aJob,
  aMachine,
  anAlloc,
  anEval,
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

describe('the deployment of a plan', () => {
  const running = () =>
    aDeployment({ TaskGroups: { web: aDeploymentState({ DesiredCanaries: 1 }), api: aDeploymentState() } });

  it('EB-270 ST-114 ST-172 DP-123: counters that allocations own win over the copy in the plan', () => {
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

  it.each([
    ['stopped', false],
    ['purged', true],
  ])('EB-275: a new one of a job that was %s meanwhile is left out, as its allocations are', (_how, Purge) => {
    const { machine, job, plan } = cluster();
    const ended = { JobID: job.ID, Purge, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    apply(machine, 'JobDeregister', ended, { namespace: 'default' });
    const planned = running();
    const AllocsUpdated = [anAlloc({ Job: job, DeploymentID: planned.ID })];
    expect(plan({ Deployment: planned, AllocsUpdated }).verdict.kind).toBe('accepted');
    expect([machine.tables.deployment.size, machine.tables.allocs.size]).toEqual([0, 0]);
  });

  it('EB-270 ST-114 DP-125: its status changes only through the updates', () => {
    const { machine, plan } = cluster();
    const planned = running();
    plan({ Deployment: planned });
    plan({ DeploymentUpdates: [{ DeploymentID: planned.ID, Status: 'paused', StatusDescription: 'paused' }] });
    plan({ Deployment: { ...planned, Status: 'running', StatusDescription: 'x' } });
    expect(deployment(machine, planned)).toMatchObject({ Status: 'paused', StatusDescription: 'paused' });
  });

  it('EB-270 ST-114 ST-173 DP-124: a promotion cannot be undone, and canaries survive', () => {
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
      code: 'conflict',
      error: 'deployment promotion cannot be undone',
    });
    plan({ Deployment: { ...planned, TaskGroups: { web: { ...web, PlacedCanaries: [] } } } });
    expect(deployment(machine, planned).TaskGroups['web']).toMatchObject({
      Promoted: true,
      PlacedCanaries: [canary.ID],
    });
  });

  it('DP-207: a deployment that is successful at once makes its version stable; one that runs does not', () => {
    for (const Status of ['running', 'successful'] as const) {
      const { machine, job, plan } = cluster();
      plan({ Deployment: { ...running(), Status, JobVersion: job.Version, JobCreateIndex: job.CreateIndex } });
      expect(machine.tables.jobs.get('default/web')!.Stable).toBe(Status === 'successful');
    }
  });

  it('EB-270 ST-114: a group that joins is taken from the plan, and its promotion is its own', () => {
    const { machine, plan } = cluster();
    const { TaskGroups, ...planned } = running();
    plan({ Deployment: { ...planned, TaskGroups: { web: { ...TaskGroups['web']!, Promoted: true } } } });
    const api = aDeploymentState({ DesiredTotal: 3, PlacedAllocs: 2 });
    const web = { ...TaskGroups['web']!, Promoted: true };
    expect(plan({ Deployment: { ...planned, TaskGroups: { web, api } } }).verdict.kind).toBe('accepted');
    expect(deployment(machine, planned).TaskGroups).toMatchObject({ web: { Promoted: true }, api });
  });

  it('EB-271 ST-115 DP-126: updates get the time of the plan; a missing or terminal one is skipped', () => {
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
