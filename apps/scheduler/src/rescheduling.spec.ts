import { NS_PER_SECOND, type Allocation, type Job, type TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { ReconcilingFixture } from './reconciliation/reconciling.fixture.js';
import { placedBy, SchedulingFixture, stoppedBy } from './scheduling.fixture.js';

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const jobOf = (group: Partial<TaskGroup> = {}, over: Partial<Job> = {}): Job =>
  fixtures.aJob({ TaskGroups: [fixtures.aGroup(group, over.Type)], ...over });
const fail = (alloc: Allocation): void => {
  const FinishedAt = new Date(world.nowMs).toISOString();
  const dead = { State: 'dead' as const, Failed: true, Restarts: 0, LastRestart: null, StartedAt: null, FinishedAt };
  world.report(alloc, { ClientStatus: 'failed', TaskStates: { web: { ...dead, Events: [], Paused: '' } } });
};
const due = (id: string) => world.attemptFor(world.state.tables.evals.get(id)!);

describe('without room for those that failed', () => {
  it('SC-153: none of the group is stopped, also those that were not tried', () => {
    const node = world.addNode();
    world.register(jobOf({ Count: 3 }));
    world.settle();
    for (const alloc of world.allocs()) fail(alloc);
    const [followup] = world.run({ TriggeredBy: 'alloc-failure' }).followups;
    world.makeIneligible(node);
    world.nowMs += 30_000;
    const attempt = due(followup!.ID);
    world.commit(attempt);
    expect(attempt.failedGroups['web']).toMatchObject({ CoalescedFailures: 2 });
    expect(stoppedBy(attempt)).toEqual([]);
    expect(world.allocs().map((a) => [a.DesiredStatus, a.RescheduleTracker?.LastReschedule])).toEqual(
      Array.from({ length: 3 }, () => ['run', 'no placement']),
    );
  });

  it('SC-324: when there is room it is placed, its tracker goes on and its delays are not reset', () => {
    const node = world.addNode();
    world.register(jobOf());
    world.settle();
    for (const delay of [30, 60]) {
      const last = world.allocs().find((a) => a.NextAllocation === '');
      fail(last!);
      const [followup] = world.run({ TriggeredBy: 'alloc-failure' }).followups;
      world.nowMs += delay * 1_000;
      if (delay === 60) world.makeIneligible(node);
      world.commit(due(followup!.ID));
    }
    expect(world.allocs().find((a) => a.NextAllocation === '')?.RescheduleTracker?.LastReschedule).toBe('no placement');
    const room = world.addNode();
    const [placed] = placedBy(world.run({ TriggeredBy: 'queued-allocs' })).filter(
      ({ CreateIndex }) => CreateIndex === 0,
    );
    expect(placed?.NodeID).toBe(room.ID);
    expect(placed?.RescheduleTracker?.Events.map(({ Delay }) => Delay / NS_PER_SECOND)).toEqual([30, 60]);
  });

  it('SC-110: what failed avoids its machine, the fuller one, and those of the failures before', () => {
    const task = fixtures.aTask();
    const Tasks = [{ ...task, Resources: { ...task.Resources, CPU: 500 } }];
    const full = world.addNode();
    world.register(fixtures.aJob({ ID: 'other', TaskGroups: [fixtures.aGroup({ Count: 3, Tasks })] }));
    world.run({ JobID: 'other' });
    const [free, freer] = [world.addNode(), world.addNode()];
    world.makeIneligible(freer);
    world.register(jobOf());
    world.settle();
    const newest = () => world.allocs().find((a) => a.JobID === 'web' && a.NextAllocation === '')!;
    const failedOver = () => {
      fail(newest());
      const [followup] = world.run({ TriggeredBy: 'alloc-failure' }).followups;
      world.nowMs += 3_600_000;
      world.commit(due(followup!.ID));
      return newest().NodeID;
    };
    expect(newest().NodeID).toBe(full.ID);
    expect(failedOver()).toBe(free.ID);
    fixtures.apply(world.state, 'NodeUpdateEligibility', {
      NodeID: freer.ID,
      Eligibility: 'eligible',
      NodeEvent: null,
      UpdatedAt: world.nowMs / 1000,
    });
    expect(failedOver()).toBe(freer.ID);
  });

  it('SC-176: a follow-up that was canceled is made again by whatever comes next', () => {
    world.addNode();
    world.register(jobOf());
    world.settle();
    fail(world.allocs()[0]!);
    const [canceled] = world.run({ TriggeredBy: 'alloc-failure' }).followups;
    const evaluation = world.state.tables.evals.get(canceled!.ID)!;
    fixtures.apply(world.state, 'EvalUpdate', { Evals: [{ ...evaluation, Status: 'canceled' }] });
    const [again] = world.run({ TriggeredBy: 'node-update' }).followups;
    expect(again).toMatchObject({ TriggeredBy: 'alloc-reschedule', WaitUntil: canceled!.WaitUntil });
    expect(world.allocs()[0]!.FollowupEvalID).toBe(again!.ID);
  });

  it('SC-325: an evaluation that comes before the time changes nothing', () => {
    world.addNode();
    world.register(jobOf());
    world.settle();
    fail(world.allocs()[0]!);
    world.run({ TriggeredBy: 'alloc-failure' });
    world.nowMs += 20_000;
    expect(world.attempt({ TriggeredBy: 'queued-allocs', Status: 'blocked' }).isNoop).toBe(true);
  });
});

describe('reconnecting (14.5)', () => {
  it('SC-183: what came back counts again: nothing is placed, and a surplus is of the highest name', () => {
    const fixture = ReconcilingFixture.of({ Count: 2 });
    const back = [{ Field: 0, Value: 'unknown', Time: '2026-01-01T00:00:00Z' }];
    for (const index of [0, 1, 2]) fixture.add(index, { AllocStates: back });
    const wants = fixture.run();
    expect(wants.placements).toEqual([]);
    expect(wants.stops.map(({ alloc }) => alloc.Name)).toEqual(['web.web[2]']);
    expect(wants.desired['web']).toMatchObject({ Reconnect: 3, Ignore: 2 });
  });

  it.each(['the time limit first', 'the node first'])(
    'SC-322: %s, in the same second: as many run as are wanted',
    (order) => {
      const first = world.addNode();
      const Disconnect = { LostAfter: 300 * NS_PER_SECOND, StopOnClientAfter: null, Replace: false, Reconcile: '' };
      world.register(jobOf({ Count: 2, Disconnect }));
      world.settle();
      world.addNode();
      world.nodeIs(first, 'disconnected');
      const [timeout] = world.run({ TriggeredBy: 'node-update' }).followups;
      world.nowMs += 300_000;
      const comesBack = (): void => {
        world.nodeIs(first, 'initializing');
        for (const alloc of world.allocs())
          if (alloc.NodeID === first.ID && alloc.DesiredStatus === 'run')
            world.report(alloc, { ClientStatus: 'running' });
        world.nodeIs(first, 'ready');
      };
      const timesOut = (): void => {
        const attempt = due(timeout!.ID);
        if (!attempt.isNoop) world.commit(attempt);
      };
      for (const step of order === 'the node first' ? [comesBack, timesOut] : [timesOut, comesBack]) step();
      world.settle({ TriggeredBy: 'reconnect' });
      expect(world.live()).toEqual(['web.web[0]', 'web.web[1]']);
    },
  );
});

describe('names (SC-331)', () => {
  it('SC-331: duplicates converge to the names below Count, and nothing that is fine is touched', () => {
    world.addNode();
    world.register(jobOf({ Count: 3, Update: null }));
    world.run();
    const [zero] = world.allocs();
    const twin = { ...zero!, ID: fixtures.freshId() };
    const base = world.attempt();
    world.commit({ ...base, plan: { ...base.plan, NodeAllocation: { [twin.NodeID]: [twin] } } });
    expect(world.live()).toHaveLength(4);
    world.register(jobOf({ Count: 5, Update: null }));
    let touched = 0;
    for (let pass = 0; pass < 4; pass++) touched += stoppedBy(world.run()).length;
    expect(world.live()).toHaveLength(5);
    expect(touched).toBe(0); // which of the twins is called what does not matter while both are wanted
    world.register(jobOf({ Count: 5, Update: null, Tasks: [fixtures.aTask({ Config: { version: 2 } })] }));
    world.settle();
    expect(world.live()).toEqual([0, 1, 2, 3, 4].map((i) => `web.web[${i}]`));
  });
});

describe('a job of several regions', () => {
  it('SC-242, SC-337: its deployment waits whole for its turn, while replacing what is lost goes on', () => {
    const fixture = ReconcilingFixture.of({ Count: 3 });
    fixture.deploy({ Status: 'initializing', IsMultiregion: true, TaskGroups: {} });
    const first = fixture.run();
    expect(first.placements).toEqual([]);
    expect(first.deployment).toMatchObject({ ID: fixture.deployment!.ID, TaskGroups: { web: { DesiredTotal: 3 } } });
    expect(first.deploymentUpdates).toEqual([
      {
        DeploymentID: fixture.deployment!.ID,
        Status: 'pending',
        StatusDescription: 'Deployment is pending, waiting for peer region',
      },
    ]);

    const later = ReconcilingFixture.of({ Count: 3 });
    later.deploy({ Status: 'successful', IsMultiregion: true });
    later.evaluation = fixtures.anEval({ TriggeredBy: 'node-update' });
    for (const index of [0, 1]) later.add(index);
    later.taint(later.add(2), { Status: 'down' });
    expect(later.run().placements.map(({ name }) => name)).toEqual(['web.web[2]']);
  });
});

describe('what is told to a group with canaries', () => {
  const canarying = (promoted: boolean) => {
    const fixture = ReconcilingFixture.of({ Count: 2, Update: { ...fixtures.aGroup().Update!, Canary: 1 } });
    const canary = fixture.add(0, {
      DeploymentStatus: { Healthy: true, Timestamp: null, Canary: true, ModifyIndex: 0 },
    });
    fixture.addOld(0);
    fixture.addOld(1);
    const web = fixtures.aDeploymentState({ DesiredCanaries: 1, Promoted: promoted, PlacedCanaries: [canary.ID] });
    const { ID } = fixture.deploy({ TaskGroups: { web: { ...web, HealthyAllocs: 1, DesiredTotal: 2 } } });
    canary.DeploymentID = ID;
    return fixture.run();
  };

  it('SC-217, SC-219: while they wait they do not count towards Count, and nothing is replaced; then they do', () => {
    const waiting = canarying(false);
    expect([waiting.stops, waiting.destructive, waiting.placements]).toEqual([[], [], []]);
    const promoted = canarying(true);
    expect(promoted.stops.map(({ alloc }) => [alloc.Name, alloc.Job?.Version])).toEqual([['web.web[0]', 0]]);
    expect(promoted.destructive.map(({ alloc }) => alloc.Name)).toEqual(['web.web[1]']);
  });

  it.each([
    ['all new', { add: 0, addOld: 0 }, true],
    ['some of this version', { add: 1, addOld: 0 }, false],
    ['some to replace', { add: 1, addOld: 1 }, true],
    ['without an update block', { add: 0, addOld: 0, Update: null }, false],
    ['with no parallelism', { add: 0, addOld: 0, MaxParallel: 0 }, false],
  ])('SC-237: %s: a deployment is created: %j %s', (_, given, created) => {
    const { add, addOld, ...over } = given as { add: number; addOld: number; Update?: null; MaxParallel?: number };
    const base = fixtures.aGroup().Update!;
    const Update = over.Update === null ? null : { ...base, MaxParallel: over.MaxParallel ?? base.MaxParallel };
    const fixture = ReconcilingFixture.of({ Count: 3, Update });
    for (let i = 0; i < add; i++) fixture.add(i);
    for (let i = 0; i < addOld; i++) fixture.addOld(add + i);
    expect(fixture.run().deployment !== null).toBe(created);
  });
});

it('SC-307: stops, placements, links, deployment and follow-ups of a pass become visible at one index', () => {
  const first = world.addNode();
  world.register(jobOf({ Count: 2 }));
  world.settle();
  const second = world.addNode();
  const [lost, failing] = world.allocs();
  fixtures.apply(world.state, 'AllocUpdateDesiredTransition', {
    Transitions: { [lost!.ID]: { ...lost!.DesiredTransition, Migrate: true } },
    Evals: [],
  });
  fail(failing!);
  const attempt = world.run({ TriggeredBy: 'alloc-failure' });
  const [stopped, waiting] = [lost!, failing!].map(({ ID }) => world.state.tables.allocs.get(ID)!);
  const successor = world.allocs().find(({ PreviousAllocation }) => PreviousAllocation === lost!.ID);
  const followup = world.state.tables.evals.get(attempt.followups[0]!.ID);
  expect([first.ID, second.ID]).toContain(successor?.NodeID);
  expect(stopped).toMatchObject({ DesiredStatus: 'stop', NextAllocation: successor?.ID });
  expect(waiting).toMatchObject({ DesiredStatus: 'run', FollowupEvalID: followup?.ID });
  const indexes = new Set([stopped, waiting, successor, followup].map((row) => row?.ModifyIndex));
  expect([...indexes]).toEqual([world.state.appliedIndex]);
});
