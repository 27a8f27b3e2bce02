import { NS_PER_MINUTE, type Allocation, type Job, type TaskGroup, type UpdateStrategy } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Attempt } from '../attempt.js';
import { placedBy, SchedulingFixture, stoppedBy } from '../scheduling.fixture.js';

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const version = (n: number, update: Partial<UpdateStrategy> = {}, group: Partial<TaskGroup> = {}): Job =>
  fixtures.aJob({
    TaskGroups: [
      fixtures.aGroup({
        Count: 4,
        Update: { ...fixtures.aGroup().Update!, MaxParallel: 2, ...update },
        Tasks: [fixtures.aTask({ Config: { version: n } })],
        ...group,
      }),
    ],
  });
const versionsLive = (): number[] =>
  world
    .allocs()
    .filter((a) => a.DesiredStatus === 'run')
    .map((a) => a.Job!.Version);

describe('a rolling update, committed step by step', () => {
  it('SC-222, SC-240, SC-241, SC-243: in steps of max_parallel, then successful; the next one too', () => {
    for (let i = 0; i < 3; i++) world.addNode();
    world.register(version(0));
    const first = world.run();
    expect(placedBy(first).map((a) => a.DeploymentID)).toEqual(Array(4).fill(first.deploymentId));
    world.allRunHealthy();
    world.settle();
    expect(world.deployment()).toMatchObject({ Status: 'successful', JobVersion: 0 });

    world.register(version(1));
    expect(stoppedBy(world.run())).toHaveLength(2);
    expect(world.run().isNoop).toBe(true); // none of the two is healthy yet
    world.allRunHealthy();
    expect(stoppedBy(world.run())).toHaveLength(2);
    world.allRunHealthy();
    world.settle();
    expect(versionsLive()).toEqual([1, 1, 1, 1]);
    expect(world.deployment()).toMatchObject({ Status: 'successful', JobVersion: 1 });
    expect(world.deployment()?.TaskGroups['web']).toMatchObject({ DesiredTotal: 4, PlacedAllocs: 4, HealthyAllocs: 4 });
  });

  it('SC-239, SC-243: another count updates in place, in a deployment of its own, and health is proven again', () => {
    world.addNode();
    world.register(version(0));
    world.run();
    world.allRunHealthy();
    world.settle();
    world.register(version(0, {}, { Count: 5 }));
    const attempt = world.run();
    expect(attempt.deploymentId).not.toBe('');
    const kept = placedBy(attempt).filter((a) => a.CreateIndex > 0);
    expect(kept).toHaveLength(4);
    expect(kept.every((a) => a.DeploymentID === attempt.deploymentId && a.DeploymentStatus === null)).toBe(true);
    world.allRunHealthy();
    world.settle();
    expect(world.deployment()?.Status).toBe('successful');
  });

  it('SC-148, SC-220, SC-150: canaries wait; what is lost meanwhile is replaced by the version that runs', () => {
    const nodes = [world.addNode(), world.addNode(), world.addNode()];
    world.register(version(0));
    world.run();
    world.allRunHealthy();
    world.settle();
    const before = world.deployment()!;
    world.register(version(1, { Canary: 1 }));
    const [canary] = placedBy(world.run());
    expect(canary?.DeploymentStatus).toMatchObject({ Canary: true, Healthy: null });
    expect(world.deployment()?.TaskGroups['web']).toMatchObject({
      DesiredCanaries: 1,
      PlacedCanaries: [canary!.ID],
      Promoted: false,
    });
    world.allRunHealthy();
    expect(world.attempt().isNoop).toBe(true);

    const victim = world.allocs().find((a) => a.Job?.Version === 0 && a.NodeID !== canary!.NodeID)!;
    const lost = world.allocs().filter((a) => a.NodeID === victim.NodeID && a.DesiredStatus === 'run');
    world.nodeDown(nodes.find(({ ID }) => ID === victim.NodeID)!);
    const replaced = placedBy(world.run({ TriggeredBy: 'node-update' }));
    expect(replaced).toHaveLength(lost.length);
    expect(replaced.map((a: Allocation) => [a.Job?.Version, a.DeploymentID])).toEqual(lost.map(() => [0, before.ID]));
    expect(versionsLive().toSorted((a, b) => a - b)).toEqual([0, 0, 0, 0, 1]);
  });
});

describe('a lost allocation whose older version finds no room', () => {
  it('SC-36, SC-55, SC-150: what it waits for is room where that version may run, wherever the new one may', () => {
    const task = fixtures.aTask();
    const Tasks = [{ ...task, Resources: { ...task.Resources, CPU: 3_000 } }];
    const onRack = (rack: string, update: Partial<UpdateStrategy> = {}): Job => ({
      ...version(0, update, { Count: 2, Tasks }),
      Constraints: [{ LTarget: '${meta.rack}', RTarget: rack, Operand: '=' }],
    });
    const inRack = (rack: string) => world.addNode({ Meta: { rack }, ComputedClass: `v1:${rack}` });
    const [, second] = [inRack('a'), inRack('a'), inRack('b')];
    world.register(onRack('a'));
    world.run();
    world.allRunHealthy();
    world.settle();
    world.register(onRack('b', { Canary: 1 }));
    world.run();
    world.nodeDown(second);
    const [blocked] = world.run({ TriggeredBy: 'node-update' }).blocked;
    expect(blocked).toMatchObject({ escaped: false, classEligibility: { 'v1:a': true } });
  });
});

describe('a node that is away for a minute', () => {
  const away = {
    Disconnect: { LostAfter: 5 * NS_PER_MINUTE, StopOnClientAfter: null, Replace: true, Reconcile: 'keep_original' },
  };
  const runningOn = (nodeId: string) => world.allocs().filter((a) => a.NodeID === nodeId && a.DesiredStatus === 'run');
  const report = (alloc: Allocation) => world.report(alloc, { ClientStatus: 'running' });

  it.each(['heartbeat first', 'report first'])(
    'SC-184, SC-189, SC-316, SC-317: comes back to the same allocations, nothing placed (%s)',
    (order) => {
      const node = world.addNode();
      world.register(version(0, {}, { Count: 2, ...away }));
      world.settle();
      world.nodeIs(node, 'disconnected');
      const attempt = world.run({ TriggeredBy: 'node-update' });
      expect(placedBy(attempt).map((a) => a.ClientStatus)).toEqual(['unknown', 'unknown']);
      expect(attempt.followups.map((e) => e.TriggeredBy)).toEqual(['max-disconnect-timeout', 'alloc-reschedule']);
      expect(world.run({ TriggeredBy: 'node-update' }).isNoop).toBe(true);

      if (order === 'report first') {
        // Refused while the node is away (SC-163), and nothing comes of it.
        for (const alloc of runningOn(node.ID)) report(alloc);
        expect(runningOn(node.ID).map((a) => a.ClientStatus)).toEqual(['unknown', 'unknown']);
        expect(world.run({ TriggeredBy: 'node-update' }).isNoop).toBe(true);
      }
      world.nodeIs(node, 'initializing');
      expect(world.run({ TriggeredBy: 'node-update' }).isNoop).toBe(true);
      for (const alloc of runningOn(node.ID)) report(alloc);
      expect(world.run({ TriggeredBy: 'reconnect' }).isNoop).toBe(true); // no plan could write it yet (SC-313)
      world.nodeIs(node, 'ready');
      const back = world.run({ TriggeredBy: 'node-update' });
      expect(stoppedBy(back)).toEqual([]);
      expect(placedBy(back).every((a) => a.CreateIndex > 0)).toBe(true);
      expect(world.run({ TriggeredBy: 'node-update' }).isNoop).toBe(true);
      world.register(version(1, {}, { Count: 2, ...away }));
      expect(stoppedBy(world.run())).toHaveLength(2);
    },
  );

  it('SC-192, SC-194, SC-268: replaced with tracker by the follow-up; back again, one of the two stays', () => {
    const first = world.addNode();
    world.register(version(0, {}, { Count: 1, ...away }));
    world.settle();
    const [original] = world.allocs();
    const second = world.addNode();
    world.nodeIs(first, 'disconnected');
    const [, later] = world.run({ TriggeredBy: 'node-update' }).followups;
    world.nowMs += 30_000;
    const placed = placedBy(world.attemptFor(world.state.tables.evals.get(later!.ID)!));
    expect(placed).toMatchObject([
      {
        NodeID: second.ID,
        PreviousAllocation: original!.ID,
        RescheduleTracker: { Events: [{ PrevAllocID: original!.ID, Delay: 30e9 }], LastReschedule: 'ok' },
      },
    ]);
    world.commit(world.attemptFor(world.state.tables.evals.get(later!.ID)!));
    expect(world.allocs().map((a) => [a.ClientStatus, a.DesiredStatus])).toContainEqual(['unknown', 'run']);
    world.allRunHealthy();
    expect(world.run({ TriggeredBy: 'node-update' }).isNoop).toBe(true);

    world.nodeIs(first, 'initializing');
    report(world.state.tables.allocs.get(original!.ID)!);
    world.nodeIs(first, 'ready');
    const back = world.run({ TriggeredBy: 'reconnect' });
    expect(stoppedBy(back)).toMatchObject([
      { DesiredDescription: 'alloc not needed due to disconnected client reconnect' },
    ]);
    expect(world.live()).toEqual(['web.web[0]']);
    expect(runningOn(first.ID)).toHaveLength(1);
  });

  it('SC-198, SC-199: gone for too long it is lost, and its place is filled once', () => {
    const node = world.addNode();
    world.register(version(0, {}, { Count: 1, ...away, ReschedulePolicy: null }));
    world.settle();
    world.nodeIs(node, 'disconnected');
    const [timeout] = world.run({ TriggeredBy: 'node-update' }).followups;
    const other = world.addNode();
    world.nowMs += 5 * 60_000;
    world.commit(world.attemptFor(world.state.tables.evals.get(timeout!.ID)!));
    const statuses = new Map(world.allocs().map((a) => [a.NodeID, a.ClientStatus]));
    expect(statuses).toEqual(
      new Map([
        [node.ID, 'lost'],
        [other.ID, 'pending'],
      ]),
    );
    expect(world.run().isNoop).toBe(true);
  });
});

describe('what failed in a rollout after it had been healthy', () => {
  const POLICY = { ...fixtures.aGroup().ReschedulePolicy!, Delay: 30e9, DelayFunction: 'constant' as const };

  /** Its rollout is over with the pass that is answered. */
  const failedInTime = (ReschedulePolicy: TaskGroup['ReschedulePolicy']): Attempt => {
    world.addNode();
    world.register(version(0, {}, { Count: 1, ReschedulePolicy }));
    world.run();
    world.allRunHealthy();
    world.report(world.allocs()[0]!, { ClientStatus: 'failed' });
    const attempt = world.run({ TriggeredBy: 'deployment-watcher' });
    expect(world.deployment()?.Status).toBe('successful');
    return attempt;
  };

  it('SC-171, SC-261: it is looked at again when its delay is over, and replaced then', () => {
    const { followups } = failedInTime({ ...POLICY, Attempts: 0, Unlimited: true });
    expect(followups.map(({ WaitUntil }) => WaitUntil)).toEqual([new Date(world.nowMs + 30_000).toISOString()]);
    expect(world.allocs()[0]!.FollowupEvalID).toBe(followups[0]!.ID);
    world.nowMs += 30_000;
    expect(placedBy(world.attemptFor(followups[0]!)).map((a) => a.Name)).toEqual(['web.web[0]']);
  });

  it('SC-266: one that may not be tried again is left as it is', () => {
    const { followups } = failedInTime({ ...POLICY, Attempts: 0, Unlimited: false });
    expect(followups).toEqual([]);
    expect(world.allocs()[0]!.FollowupEvalID).toBe('');
  });
});

describe('races and leftovers (section 21)', () => {
  it('SC-339, SC-29: a group that cannot be placed does not hold the other one up', () => {
    for (let i = 0; i < 2; i++) world.addNode();
    const Update = { ...fixtures.aGroup().Update!, MaxParallel: 1 };
    const task = fixtures.aTask();
    const huge = { ...task, Resources: { ...task.Resources, CPU: 99_999 } };
    const both = (n: number): Job =>
      fixtures.aJob({
        TaskGroups: [
          fixtures.aGroup({ Count: 2, Update, Tasks: [fixtures.aTask({ Config: { version: n } })] }),
          fixtures.aGroup({ Name: 'big', Update, Tasks: [huge] }),
        ],
      });
    world.register(both(0));
    world.run();
    world.allRunHealthy();
    world.register(both(1));
    for (let step = 0; step < 2; step++) {
      const attempt = world.run();
      expect(stoppedBy(attempt)).toHaveLength(1);
      expect(attempt.blocked).toHaveLength(1);
      world.allRunHealthy();
    }
    expect(versionsLive()).toEqual([1, 1]);
    expect(world.deployment()?.Status).toBe('running');
  });

  it.each([
    ['unknown with an entry without a value', { ClientStatus: 'unknown' as const }, null],
    ['unknown and to be rescheduled by force', { ClientStatus: 'unknown' as const }, true],
    ['running and to be rescheduled by force', { ClientStatus: 'running' as const }, true],
  ])('SC-323, SC-169: %s leads to one plan at most, then quiet', (_, report, ForceReschedule) => {
    world.addNode();
    world.register(version(0, {}, { Count: 1 }));
    world.run();
    const [alloc] = world.allocs();
    world.report(alloc!, report);
    fixtures.apply(world.state, 'AllocUpdateDesiredTransition', {
      Transitions: { [alloc!.ID]: { ...alloc!.DesiredTransition, ForceReschedule } },
      Evals: [],
    });
    world.run({ TriggeredBy: 'alloc-failure' });
    expect(world.run({ TriggeredBy: 'alloc-failure' }).isNoop).toBe(true);
    expect(world.live()).toEqual(['web.web[0]']);
  });

  it('SC-330: a job that was stopped meanwhile has nothing left over', () => {
    world.addNode();
    world.register(version(0));
    const attempt = world.attempt();
    world.stopJob('web');
    world.commit(attempt);
    world.run({ TriggeredBy: 'job-deregister' });
    expect(world.live()).toEqual([]);
  });

  it('SC-332: any datacenter is no reason to replace', () => {
    world.addNode();
    world.register(version(0));
    world.run();
    world.allRunHealthy();
    world.register({ ...version(0), Datacenters: ['dc*'] });
    expect(stoppedBy(world.run())).toEqual([]);
  });
});
