import type { Allocation, DeploymentState } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../events.js';
import { fixtures } from '../fixtures.js';

const {
  aClientUpdate,
  aDeployment,
  aDeploymentState,
  aMachine,
  anAlloc,
  anEval,
  aPlanResult,
  aRegisteredJob,
  apply,
  timeNs,
} = fixtures;

function deployed(state: Partial<DeploymentState> = {}) {
  const machine = aMachine();
  const { job, evaluation } = aRegisteredJob(machine);
  const deployment = aDeployment({
    JobCreateIndex: job.CreateIndex,
    TaskGroups: { web: aDeploymentState({ DesiredTotal: 3, ...state }) },
  });
  const plan = (over: Parameters<typeof aPlanResult>[0]) =>
    apply(machine, 'ApplyPlanResults', aPlanResult({ EvalID: evaluation.ID, Job: job, UpdatedAt: timeNs, ...over }));
  plan({ Deployment: deployment });
  const place = (over: Partial<Allocation> = {}) => {
    const alloc = anAlloc({ Job: job, DeploymentID: deployment.ID, ...over });
    plan({ AllocsUpdated: [alloc] });
    return alloc;
  };
  const report = (Healthy: boolean | null, ...allocs: Allocation[]) =>
    apply(machine, 'AllocClientUpdate', {
      Allocs: allocs.map((alloc) =>
        aClientUpdate(alloc, {
          ModifyTime: timeNs + 30e9,
          DeploymentStatus: { Healthy, Timestamp: '2026-01-01T00:00:20.000Z' },
        }),
      ),
      Evals: [],
    });
  const stored = () => machine.tables.deployment.get(deployment.ID)!;
  const counts = () => {
    const { PlacedAllocs, HealthyAllocs, UnhealthyAllocs } = stored().TaskGroups['web']!;
    return [PlacedAllocs, HealthyAllocs, UnhealthyAllocs];
  };
  return { machine, job, evaluation, deployment, plan, place, report, stored, counts };
}

describe('counters of a deployment', () => {
  it('DP-401 ND-114: placed, healthy, unhealthy; no way back from unhealthy; the same health counts once', () => {
    const { place, report, counts } = deployed();
    const [a, b] = [
      place(),
      place({ DeploymentStatus: { Healthy: true, Timestamp: null, Canary: false, ModifyIndex: 0 } }),
    ];
    expect(counts()).toEqual([2, 0, 0]);
    for (let i = 0; i < 5; i++) report(true, a);
    expect(counts()).toEqual([2, 1, 0]);
    report(false, a);
    expect(counts()).toEqual([2, 0, 1]);
    report(true, a);
    expect(counts()).toEqual([2, 0, 1]);
    report(true, b);
    expect(counts()).toEqual([2, 0, 1]);
  });

  it('ND-224: health of an allocation of an older deployment counts there, not in the present one', () => {
    const { machine, job, plan, place, report, counts } = deployed();
    const old = place();
    const present = aDeployment({
      JobCreateIndex: job.CreateIndex,
      TaskGroups: { web: aDeploymentState({ DesiredTotal: 3 }) },
    });
    plan({ Deployment: present });
    report(true, old);
    expect(counts()).toEqual([1, 1, 0]);
    expect(machine.tables.deployment.get(present.ID)!.TaskGroups['web']).toMatchObject({
      HealthyAllocs: 0,
      UnhealthyAllocs: 0,
    });
  });

  it('DP-402 DP-1405: without its deployment or group the allocation is written all the same', () => {
    const { machine, job, plan, place, report, stored } = deployed();
    const empty = aDeployment({ JobCreateIndex: job.CreateIndex, TaskGroups: {} });
    plan({ Deployment: empty });
    const [gone, groupless] = [place({ DeploymentID: 'gone' }), place({ DeploymentID: empty.ID })];
    const before = stored();
    report(true, gone);
    expect(machine.tables.allocs.get(gone.ID)!.DeploymentStatus!.Healthy).toBe(true);
    expect(machine.tables.allocs.has(groupless.ID)).toBe(true);
    expect(stored()).toBe(before);
  });

  it('DP-403 DP-404: a canary is listed once; indexes and times follow the counter', () => {
    const { machine, place, report, stored } = deployed({ DesiredCanaries: 1 });
    const canary = place({ DeploymentStatus: { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 } });
    const { index } = report(true, canary);
    expect(stored()).toMatchObject({
      ModifyIndex: index,
      ModifyTime: timeNs + 30e9,
      TaskGroups: { web: { PlacedCanaries: [canary.ID] } },
    });
    expect(machine.tables.allocs.get(canary.ID)!.DeploymentStatus).toMatchObject({ Canary: true, ModifyIndex: index });
  });

  it('DP-405: counters of one that is over still follow, status and text do not', () => {
    const { machine, deployment, place, report, stored, counts } = deployed();
    const alloc = place();
    apply(machine, 'DeploymentStatusUpdate', {
      Update: { DeploymentID: deployment.ID, Status: 'failed', StatusDescription: 'over' },
      UpdatedAt: timeNs,
      Eval: null,
      Job: null,
      RevertSuffix: '',
      TrackedVersions: 6,
    });
    report(true, alloc);
    expect(counts()).toEqual([1, 1, 0]);
    expect(stored()).toMatchObject({ Status: 'failed', StatusDescription: 'over' });
  });

  it('DP-406 DP-510: what is lost or stopped takes nothing back', () => {
    const { plan, place, report, counts } = deployed();
    const alloc = place();
    report(true, alloc);
    const diff = {
      DesiredDescription: '',
      ModifyTime: timeNs,
      FollowupEvalID: '',
      RescheduleTracker: null,
      AllocStates: [],
    };
    plan({ AllocsStopped: [{ ...diff, ID: alloc.ID, ClientStatus: 'lost' }] });
    expect(counts()).toEqual([1, 1, 0]);
  });

  describe('a healthy canary that ends before it is promoted', () => {
    const canarying = (over: Partial<DeploymentState> = {}) => {
      const world = deployed({ DesiredCanaries: 1, ...over });
      const canary = world.place({
        DeploymentStatus: { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 },
      });
      world.report(true, canary);
      return { ...world, canary };
    };
    type World = ReturnType<typeof canarying>;
    const lostPlan = ({ canary }: World) => ({
      AllocsStopped: [
        {
          ID: canary.ID,
          DesiredDescription: 'lost',
          ClientStatus: 'lost' as const,
          ModifyTime: timeNs,
          FollowupEvalID: '',
          RescheduleTracker: null,
          AllocStates: [],
        },
      ],
      UpdatedAt: timeNs + 3_600e9,
    });
    const said = ({ canary }: World, ClientStatus: 'complete' | 'failed') => ({
      Allocs: [aClientUpdate(canary, { ClientStatus, ModifyTime: timeNs + 3_600e9 })],
      Evals: [],
    });

    it.each<[string, (world: World) => void]>([
      ['lost', (w) => w.plan(lostPlan(w))],
      [
        'preempted',
        (w) =>
          w.plan({
            AllocsPreempted: [{ ID: w.canary.ID, PreemptedByAllocation: 'another' }],
            UpdatedAt: timeNs + 3_600e9,
          }),
      ],
      ['complete', (w) => apply(w.machine, 'AllocClientUpdate', said(w, 'complete'))],
      ['failed', (w) => apply(w.machine, 'AllocClientUpdate', said(w, 'failed'))],
    ])('is not healthy any more, and the progress deadline runs again: %s', (_how, end) => {
      const world = canarying();
      expect(world.counts()).toEqual([1, 1, 0]);
      end(world);
      expect(world.counts()).toEqual([1, 0, 0]);
      expect(world.stored().TaskGroups['web']!.RequireProgressBy).toBe('2026-01-01T01:10:00.000Z');
      end(world);
      expect(world.counts()).toEqual([1, 0, 0]);
    });

    it('counts as unhealthy if that is said afterwards, and is not taken off twice', () => {
      const world = canarying();
      world.plan(lostPlan(world));
      world.report(false, world.canary);
      expect(world.counts()).toEqual([1, 0, 1]);
    });

    it('DP-501: without a progress deadline none begins', () => {
      const world = canarying({ ProgressDeadline: 0 });
      world.plan(lostPlan(world));
      expect(world.stored().TaskGroups['web']!.RequireProgressBy).toBeNull();
    });

    it('DP-405 DP-406: takes nothing back once its deployment is over or it was promoted', () => {
      const failed = canarying();
      failed.plan({
        DeploymentUpdates: [{ DeploymentID: failed.deployment.ID, Status: 'failed', StatusDescription: 'over' }],
      });
      failed.plan(lostPlan(failed));
      expect(failed.counts()).toEqual([1, 1, 0]);
      const promoted = canarying();
      apply(promoted.machine, 'DeploymentPromote', {
        DeploymentID: promoted.deployment.ID,
        All: true,
        Groups: [],
        PromotedAt: timeNs,
        Eval: null,
      });
      promoted.plan(lostPlan(promoted));
      expect(promoted.counts()).toEqual([1, 1, 0]);
    });

    it('DP-405: an unhealthy report after its deployment is over counts as unhealthy only', () => {
      const world = canarying();
      world.plan(lostPlan(world));
      expect(world.counts()).toEqual([1, 0, 0]);
      world.plan({
        DeploymentUpdates: [{ DeploymentID: world.deployment.ID, Status: 'failed', StatusDescription: 'over' }],
      });
      world.report(false, world.canary);
      expect(world.counts()).toEqual([1, 0, 1]);
      const living = canarying();
      living.plan({
        DeploymentUpdates: [{ DeploymentID: living.deployment.ID, Status: 'failed', StatusDescription: 'over' }],
      });
      living.plan(lostPlan(living));
      living.report(true, living.canary);
      expect(living.counts()).toEqual([1, 1, 0]);
    });

    it('ST-119: one that moves to another deployment after its end is a placement there', () => {
      const world = canarying();
      world.plan(lostPlan(world));
      const next = aDeployment({ JobCreateIndex: world.job.CreateIndex });
      const moved = { ...world.machine.tables.allocs.get(world.canary.ID)!, DeploymentID: next.ID };
      world.plan({ Deployment: next, AllocsUpdated: [moved] });
      expect(world.machine.tables.deployment.get(next.ID)!.TaskGroups['web']).toMatchObject({
        PlacedAllocs: 1,
        HealthyAllocs: 0,
      });
      expect(world.counts()).toEqual([1, 0, 0]);
    });

    it('DP-503: what its agent says after its end moves neither deadline nor deployment', () => {
      const world = canarying();
      world.plan(lostPlan(world));
      const ended = world.stored();
      apply(world.machine, 'AllocClientUpdate', said(world, 'failed'));
      expect(world.stored()).toBe(ended);
      const sick = deployed({ DesiredCanaries: 1 });
      const canary = sick.place({ DeploymentStatus: { Healthy: null, Timestamp: null, Canary: true, ModifyIndex: 0 } });
      const deadline = sick.stored().TaskGroups['web']!.RequireProgressBy;
      const update = aClientUpdate(canary, {
        ClientStatus: 'failed',
        ModifyTime: timeNs + 3_600e9,
        DeploymentStatus: { Healthy: false, Timestamp: '2026-01-01T00:00:20.000Z' },
      });
      apply(sick.machine, 'AllocClientUpdate', { Allocs: [update], Evals: [] });
      expect(sick.counts()).toEqual([1, 0, 1]);
      expect(sick.stored().TaskGroups['web']!.RequireProgressBy).toBe(deadline);
    });
  });

  it('DP-407 DP-1303 DP-1306: several of one message are one deployment and one event', () => {
    const { place, report, counts } = deployed();
    const applied = report(true, place(), place(), place());
    expect(counts()).toEqual([3, 3, 0]);
    expect(
      eventsOf(applied)!
        .Events.map((e) => `${e.Topic} ${e.Type}`)
        .toSorted(),
    ).toEqual([
      'Allocation AllocationUpdated',
      'Allocation AllocationUpdated',
      'Allocation AllocationUpdated',
      'Deployment AllocationUpdated',
    ]);
  });

  it('DP-501 DP-502 DP-503 ND-114: the first placement starts the clock, the first healthy one moves it, nothing else', () => {
    const { place, report, stored } = deployed({ ProgressDeadline: 600e9 });
    const due = () => stored().TaskGroups['web']!.RequireProgressBy;
    const [a, b] = [place(), place()];
    expect(due()).toBe('2026-01-01T00:10:00.000Z');
    report(false, b);
    expect(due()).toBe('2026-01-01T00:10:00.000Z');
    report(true, a);
    expect(due()).toBe('2026-01-01T00:10:20.000Z');
    report(false, a);
    expect(due()).toBe('2026-01-01T00:10:20.000Z');
    const without = deployed({ ProgressDeadline: 0 });
    without.report(true, without.place());
    expect(without.stored().TaskGroups['web']!.RequireProgressBy).toBeNull();
  });

  it('DP-503: a deadline that a plan brings after the placement waits for a healthy allocation', () => {
    const { plan, place, report, stored, deployment } = deployed({ ProgressDeadline: 0 });
    const [ill, well] = [place(), place()];
    plan({ Deployment: { ...deployment, TaskGroups: { web: aDeploymentState({ ProgressDeadline: 60e9 }) } } });
    report(false, ill);
    expect(stored().TaskGroups['web']!.RequireProgressBy).toBeNull();
    report(true, well);
    expect(stored().TaskGroups['web']!.RequireProgressBy).toBe('2026-01-01T00:01:20.000Z');
  });

  it('ST-3: the row that was stored before keeps its counters', () => {
    const { place, report, stored, counts } = deployed();
    const alloc = place();
    const before = stored();
    report(true, alloc);
    expect(counts()).toEqual([1, 1, 0]);
    expect(before.TaskGroups['web']).toMatchObject({ PlacedAllocs: 1, HealthyAllocs: 0 });
  });

  it('DP-1302 DP-1305: keys by which subscribers find deployment, allocation and evaluation', () => {
    const { machine, deployment, place, report } = deployed();
    const filterKeys = (applied: ReturnType<typeof report>) =>
      Object.fromEntries(eventsOf(applied)!.Events.map((e) => [e.Topic, e.FilterKeys]));
    expect(filterKeys(report(true, place()))).toEqual({
      Allocation: ['web', deployment.ID],
      Deployment: ['web'],
    });
    const Evals = [anEval({ DeploymentID: deployment.ID })];
    const applied = apply(machine, 'AllocUpdateDesiredTransition', { Transitions: {}, Evals });
    expect(filterKeys(applied)).toEqual({ Evaluation: ['web', deployment.ID] });
  });

  it('DP-207: success by plan or by update marks the version stable; one that is gone is no error', () => {
    const { machine, job, deployment, plan } = deployed();
    plan({ DeploymentUpdates: [{ DeploymentID: deployment.ID, Status: 'successful', StatusDescription: '' }] });
    const version = machine.tables.job_version.get('default/web@0')!;
    expect(version).toMatchObject({ Stable: true, Version: 0, JobModifyIndex: job.JobModifyIndex });
    expect(version.ModifyIndex).toBe(machine.appliedIndex);
    const other = deployed();
    other.machine.tables.job_version.replace('default/web@0', undefined);
    const gone = { DeploymentID: other.deployment.ID, Status: 'successful' as const, StatusDescription: '' };
    expect(other.plan({ DeploymentUpdates: [gone] }).verdict.kind).toBe('accepted');
    expect(other.stored().Status).toBe('successful');
  });

  it('DP-210: a purge takes all deployments of the job along', () => {
    const { machine, deployment } = deployed();
    const purge = { JobID: 'web', Purge: true, NoShutdownDelay: false, SubmitTime: 0, Eval: null, TrackedVersions: 6 };
    apply(machine, 'JobDeregister', purge, { namespace: 'default' });
    expect(machine.tables.deployment.has(deployment.ID)).toBe(false);
  });

  it('DP-710: a transition for an allocation that is gone is left out, the rest is applied', () => {
    const { machine, place } = deployed();
    const alloc = place();
    const wanted = { ...alloc.DesiredTransition, Reschedule: true };
    const Evals = [anEval()];
    const Transitions = { gone: wanted, [alloc.ID]: wanted };
    expect(apply(machine, 'AllocUpdateDesiredTransition', { Transitions, Evals }).verdict.kind).toBe('accepted');
    expect(machine.tables.allocs.get(alloc.ID)!.DesiredTransition.Reschedule).toBe(true);
    expect(machine.tables.evals.has(Evals[0]!.ID)).toBe(true);
  });
});
