import { NS_PER_SECOND, type Job, type TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { placedBy, SchedulingFixture, stoppedBy } from './scheduling.fixture.js';

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const jobOf = (group: Partial<TaskGroup>, over: Partial<Job> = {}): Job =>
  fixtures.aJob({ TaskGroups: [fixtures.aGroup(group, over.Type)], ...over });
const names = (...indexes: number[]): string[] => indexes.map((i) => `web.web[${i}]`);
const deadTask = (Failed: boolean) => ({
  web: {
    State: 'dead' as const,
    Failed,
    Restarts: 0,
    LastRestart: null,
    StartedAt: null,
    FinishedAt: new Date(world.nowMs).toISOString(),
    Events: [],
    Paused: '',
  },
});

describe('count', () => {
  it('SC-206: places the missing names; what is there is left alone (V2)', () => {
    world.addNode();
    world.register(jobOf({ Count: 5 }));
    world.run();
    world.register(jobOf({ Count: 8 }));
    const { annotations, wanted } = world.run();
    expect(world.live()).toEqual(names(0, 1, 2, 3, 4, 5, 6, 7));
    expect(wanted).toEqual({ web: 3 });
    // A changed count changes the job, so the others are updated in place (SC-250, SC-253).
    expect(annotations.DesiredTGUpdates['web']).toMatchObject({ Place: 3, InPlaceUpdate: 5, DestructiveUpdate: 0 });
    expect(world.allocs().every((a) => a.Job?.Version === 1)).toBe(true);
  });

  it('SC-210: stops the highest names first (V3)', () => {
    world.addNode();
    world.register(jobOf({ Count: 20 }));
    world.run();
    world.register(jobOf({ Count: 10 }));
    const attempt = world.run();
    expect(stoppedBy(attempt)).toHaveLength(10);
    expect(new Set(stoppedBy(attempt).map((s) => s.DesiredDescription))).toEqual(
      new Set(['alloc not needed due to job update']),
    );
    expect(world.live()).toEqual(names(...Array(10).keys()).toSorted());
  });

  it('SC-248: running it again changes nothing', () => {
    world.addNode();
    world.register(jobOf({ Count: 3 }));
    world.run();
    const again = world.attempt();
    expect(again.isNoop).toBe(true);
    expect(again.annotations.DesiredTGUpdates['web']).toMatchObject({ Ignore: 3, Place: 0 });
  });

  it('SC-41: jobs of their own go to different ones of equal nodes', () => {
    const nodeOf = (): number => {
      const one = new SchedulingFixture();
      for (let i = 0; i < 20; i++) one.addNode({ ID: fixtures.uuid(1_000 + i) });
      one.register(jobOf({ Count: 1 }));
      one.run();
      return [...one.state.tables.nodes.all()].findIndex(({ ID }) => ID === one.allocs()[0]?.NodeID);
    };
    const chosen = new Set(Array.from({ length: 12 }, nodeOf));
    expect(chosen.size).toBeGreaterThan(3);
    expect(chosen).not.toContain(-1);
  });

  it('SC-41, SC-314: the same input gives the same plan, byte for byte', () => {
    for (let i = 0; i < 20; i++) world.addNode({ ID: fixtures.uuid(1_000 + i) });
    world.register(jobOf({ Count: 10 }));
    const evaluation = fixtures.anEval();
    let ids = 0;
    Object.assign(world, { newId: () => `id-${ids++}` });
    const first = JSON.stringify(world.attemptFor(evaluation).plan);
    ids = 0;
    expect(JSON.stringify(world.attemptFor(evaluation).plan)).toBe(first);
  });
});

describe('stopping', () => {
  it('SC-245, SC-247: a stopped job has everything stopped, and nothing is stopped twice', () => {
    world.addNode();
    world.register(jobOf({ Count: 2 }));
    world.run();
    world.stopJob('web');
    const attempt = world.run({ TriggeredBy: 'job-deregister' });
    expect(world.live()).toEqual([]);
    expect(attempt.annotations.DesiredTGUpdates['web']).toMatchObject({ Stop: 2, Preemptions: 0 });
    expect(attempt.wanted).toEqual({ web: 0 });
    expect(world.attempt({ TriggeredBy: 'job-deregister' }).isNoop).toBe(true);
  });

  it('SC-26: of a purged job nothing is left to do', () => {
    world.addNode();
    world.register(jobOf({ Count: 2 }));
    world.run();
    world.stopJob('web', true);
    const purged = world.attempt({ TriggeredBy: 'job-deregister' });
    expect(purged).toMatchObject({ isNoop: true, truncated: false, blocked: [] });
    expect([purged.wanted, purged.failedGroups, purged.plan.Job]).toEqual([{}, {}, null]);
  });

  it("EB-205: the plan names the job of the allocations, if the job's row is gone", () => {
    const alloc = fixtures.anAlloc({ Job: fixtures.aJob({ Version: 3 }), ClientStatus: 'running' });
    world.state.tables.allocs.replace(alloc.ID, alloc);
    const { plan } = world.attempt({ TriggeredBy: 'job-deregister' });
    expect(plan.Job).toMatchObject({ ID: 'web', Version: 3 });
    expect(Object.values(plan.NodeUpdate).flat()).toMatchObject([{ ID: alloc.ID }]);
  });

  it('SC-246: a group that was removed is stopped, the others stay', () => {
    world.addNode();
    const both = [fixtures.aGroup(), fixtures.aGroup({ Name: 'api' })];
    world.register(fixtures.aJob({ TaskGroups: both }));
    world.run();
    world.register(jobOf({}));
    world.run();
    expect(world.live()).toEqual(names(0));
  });
});

describe('updates', () => {
  it('SC-249, SC-147: another command replaces the allocation, under its name', () => {
    world.addNode();
    world.register(jobOf({}));
    world.run();
    const [old] = world.allocs();
    world.register(jobOf({ Tasks: [fixtures.aTask({ Config: { run_for: '2h' } })] }));
    const attempt = world.run();
    expect(stoppedBy(attempt)).toMatchObject([
      { ID: old!.ID, DesiredDescription: 'alloc is being updated due to job update' },
    ]);
    expect(placedBy(attempt)).toMatchObject([{ Name: 'web.web[0]', PreviousAllocation: old!.ID }]);
  });

  it('SC-250, SC-253: another kill timeout keeps allocation, node and ports', () => {
    world.addNode();
    const Networks = [
      fixtures.aNetwork({
        DynamicPorts: [{ Label: 'http', Value: 0, To: -1, HostNetwork: 'default', IgnoreCollision: false }],
      }),
    ];
    world.register(jobOf({ Networks }));
    world.run();
    const [before] = world.allocs();
    const [port] = before!.AllocatedResources.Shared.Ports ?? [];
    expect(port).toMatchObject({ Label: 'http', HostIP: '192.168.0.100' });
    expect(port!.Value).toBeGreaterThanOrEqual(20_000);
    expect(port!.To).toBe(port!.Value); // SC-87
    world.register(jobOf({ Networks, Tasks: [fixtures.aTask({ KillTimeout: 9 * NS_PER_SECOND })] }));
    world.run();
    const [after] = world.allocs();
    expect(world.allocs()).toHaveLength(1);
    expect(after).toMatchObject({ ID: before!.ID, NodeID: before!.NodeID });
    expect(after!.AllocatedResources.Shared).toEqual(before!.AllocatedResources.Shared);
    expect(after!.Job?.Version).toBe(1);
  });

  it('SC-252: in place is not possible where the job may not run any more', () => {
    world.addNode();
    const other = world.addNode({ Datacenter: 'dc2' });
    world.register(jobOf({}, { Datacenters: ['dc1'] }));
    world.run();
    world.register(jobOf({}, { Datacenters: ['dc2'] }));
    const attempt = world.run();
    expect(placedBy(attempt)).toMatchObject([{ NodeID: other.ID }]);
    expect(stoppedBy(attempt)).toHaveLength(1);
  });

  it('SC-145, SC-256: what cannot be replaced goes on, and the group has failed', () => {
    world.addNode();
    world.register(jobOf({}));
    world.run();
    const tooBig = fixtures.aTask();
    world.register(jobOf({ Tasks: [{ ...tooBig, Resources: { ...tooBig.Resources, MemoryMB: 99_999 } }] }));
    const attempt = world.run();
    expect([...stoppedBy(attempt), ...placedBy(attempt)]).toEqual([]);
    expect(world.live()).toEqual(names(0));
    expect(attempt.failedGroups['web']).toMatchObject({ NodesExhausted: 1, DimensionExhausted: { memory: 1 } });
    expect(attempt.wanted).toEqual({ web: 1 });
  });
});

describe('lost nodes', () => {
  it('SC-198, SC-200: lost ones are stopped as lost and replaced, without tracker', () => {
    const first = world.addNode();
    world.register(jobOf({ Count: 2 }));
    world.run();
    const second = world.addNode();
    world.nodeDown(first);
    const attempt = world.run({ TriggeredBy: 'node-update' });
    expect(stoppedBy(attempt)).toMatchObject([
      { ClientStatus: 'lost', DesiredDescription: 'alloc is lost since its node is down' },
      { ClientStatus: 'lost' },
    ]);
    expect(placedBy(attempt).map((a) => [a.Name, a.NodeID, a.RescheduleTracker])).toEqual(
      names(0, 1).map((name) => [name, second.ID, null]),
    );
    const lost = world.allocs().find((a) => a.NodeID === first.ID);
    expect(lost?.AllocStates).toMatchObject([{ Field: 0, Value: 'lost' }]);
    expect(lost?.NextAllocation).not.toBe('');
  });

  it('SC-155: what was told to stop on a node that then went down is marked lost', () => {
    const node = world.addNode();
    world.register(jobOf({}));
    world.run();
    world.stopJob('web');
    world.run({ TriggeredBy: 'job-deregister' });
    expect(world.allocs()[0]).toMatchObject({ DesiredStatus: 'stop', ClientStatus: 'pending' });
    world.nodeDown(node);
    world.run({ TriggeredBy: 'node-update' });
    expect(world.allocs()[0]).toMatchObject({ DesiredStatus: 'stop', ClientStatus: 'lost' });
    expect(world.attempt({ TriggeredBy: 'node-update' }).isNoop).toBe(true);
  });

  it('SC-199: on a scale-down the lost ones are not replaced', () => {
    const first = world.addNode();
    world.register(jobOf({ Count: 2 }));
    world.run();
    world.addNode();
    world.nodeDown(first);
    world.register(jobOf({ Count: 1 }));
    expect(placedBy(world.run())).toHaveLength(1);
  });

  it('SC-229: what the drainer marked is stopped and placed again under its name', () => {
    world.addNode();
    world.register(jobOf({}));
    world.run();
    const [alloc] = world.allocs();
    world.migrate(alloc!);
    const attempt = world.run({ TriggeredBy: 'node-drain' });
    expect(stoppedBy(attempt)).toMatchObject([{ ID: alloc!.ID, DesiredDescription: 'alloc is being migrated' }]);
    expect(placedBy(attempt)).toMatchObject([
      { Name: alloc!.Name, PreviousAllocation: alloc!.ID, RescheduleTracker: null },
    ]);
  });
});

describe('failed allocations', () => {
  const fail = (): void => {
    const [alloc] = world.allocs().filter((a) => a.NextAllocation === '');
    world.report(alloc!, { ClientStatus: 'failed', TaskStates: deadTask(true) });
  };

  it('SC-171, SC-173, SC-174, SC-176: a service waits for its delay; the follow-up is in the plan that names it', () => {
    world.addNode();
    world.register(jobOf({}));
    world.settle();
    fail();
    const attempt = world.run({ TriggeredBy: 'alloc-failure' });
    const [followup] = attempt.followups;
    expect(attempt.plan.FollowupEvals).toEqual([followup]);
    expect(followup).toMatchObject({
      TriggeredBy: 'alloc-reschedule',
      StatusDescription: 'created for delayed rescheduling',
      WaitUntil: new Date(world.nowMs + 30_000).toISOString(),
    });
    expect(world.allocs()).toMatchObject([
      { FollowupEvalID: followup!.ID, DesiredStatus: 'run', ClientStatus: 'failed' },
    ]);
    expect(world.attempt({ TriggeredBy: 'node-update' }).isNoop).toBe(true);
  });

  it('SC-174: later failures have follow-ups of their own, in the order in which they are due', () => {
    world.addNode();
    world.register(jobOf({ Count: 2, Update: null }));
    world.run();
    for (const alloc of world.allocs().toReversed()) {
      world.nowMs += 10_000;
      world.report(alloc, { ClientStatus: 'failed', TaskStates: deadTask(true) });
    }
    const { plan, followups } = world.run({ TriggeredBy: 'alloc-failure' });
    const dueAt = [20_000, 30_000].map((ms) => new Date(world.nowMs + ms).toISOString());
    expect(plan.FollowupEvals.map(({ WaitUntil }) => WaitUntil)).toEqual(dueAt);
    expect(plan.FollowupEvals).toEqual(followups);
  });

  it('SC-152, SC-172: when the follow-up runs the failed one is stopped and its successor carries the tracker', () => {
    const node = world.addNode();
    world.register(jobOf({}));
    world.settle();
    fail();
    const [followup] = world.run({ TriggeredBy: 'alloc-failure' }).followups;
    world.nowMs += 30_000;
    const [failed] = world.allocs();
    const attempt = world.attemptFor(world.state.tables.evals.get(followup!.ID)!);
    world.commit(attempt);
    expect(stoppedBy(attempt)).toMatchObject([
      {
        ID: failed!.ID,
        DesiredDescription: 'alloc was rescheduled because it failed',
        RescheduleTracker: { LastReschedule: 'ok' },
      },
    ]);
    const successor = world.allocs().find((a) => a.PreviousAllocation === failed!.ID);
    expect(successor?.RescheduleTracker?.Events).toMatchObject([
      { PrevAllocID: failed!.ID, PrevNodeID: node.ID, Delay: 30 * NS_PER_SECOND },
    ]);
    expect(world.attempt().isNoop).toBe(true);
  });

  it('SC-151, SC-204: without a place for its successor it is not stopped, and says so', () => {
    const node = world.addNode();
    world.register(jobOf({}));
    world.settle();
    fail();
    const [followup] = world.run({ TriggeredBy: 'alloc-failure' }).followups;
    world.nowMs += 30_000;
    world.makeIneligible(node);
    const attempt = world.attemptFor(world.state.tables.evals.get(followup!.ID)!);
    world.commit(attempt);
    expect(stoppedBy(attempt)).toEqual([]);
    expect(world.allocs()).toMatchObject([
      { DesiredStatus: 'run', RescheduleTracker: { LastReschedule: 'no placement' } },
    ]);
    expect(attempt.blocked).toHaveLength(1);
  });

  it('SC-266: when attempts are used up it stays as it is', () => {
    world.addNode();
    const ReschedulePolicy = {
      Attempts: 0,
      Interval: 0,
      Delay: 0,
      DelayFunction: 'constant',
      MaxDelay: 0,
      Unlimited: false,
    };
    world.register(jobOf({ ReschedulePolicy }));
    world.run();
    fail();
    expect(world.attempt({ TriggeredBy: 'alloc-failure' }).isNoop).toBe(true);
  });
});

describe('batch', () => {
  const batch = (Count: number): Job => jobOf({ Count }, { Type: 'batch' });

  it('SC-167: what completed is done and not placed again; a service is', () => {
    world.addNode();
    world.register(batch(1));
    world.run({ Type: 'batch' });
    world.report(world.allocs()[0]!, { ClientStatus: 'complete', TaskStates: deadTask(false) });
    expect(world.attempt({ Type: 'batch' }).isNoop).toBe(true);
  });

  it('SC-167: a completed service is placed again', () => {
    world.addNode();
    world.register(jobOf({}));
    world.run();
    world.report(world.allocs()[0]!, { ClientStatus: 'complete', TaskStates: deadTask(false) });
    expect(placedBy(world.attempt())).toHaveLength(1);
  });

  it('SC-157: a new version runs again', () => {
    world.addNode();
    world.register(batch(1));
    world.run({ Type: 'batch' });
    world.report(world.allocs()[0]!, { ClientStatus: 'complete', TaskStates: deadTask(false) });
    world.register({ ...batch(1), Meta: { run: '2' } });
    expect(placedBy(world.run({ Type: 'batch' }))).toHaveLength(1);
  });

  it('EB-339: the job decides which scheduler runs, not an evaluation of another type', () => {
    world.addNode();
    world.register(batch(1));
    world.run({ Type: 'batch' });
    world.report(world.allocs()[0]!, { ClientStatus: 'complete', TaskStates: deadTask(false) });
    expect(world.attempt({ Type: 'service', TriggeredBy: 'job-deregister' }).isNoop).toBe(true);
  });
});

describe('what cannot be placed', () => {
  it('SC-28, SC-29: one failure per group, the rest of it coalesced; other groups go on', () => {
    world.addNode();
    const big = fixtures.aTask();
    const huge = { ...big, Resources: { ...big.Resources, CPU: 99_999 } };
    world.register(
      fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Name: 'big', Count: 3, Tasks: [huge] }), fixtures.aGroup()] }),
    );
    const attempt = world.run();
    expect(attempt.failedGroups).toEqual({
      big: expect.objectContaining({ CoalescedFailures: 2, NodesExhausted: 1, DimensionExhausted: { cpu: 1 } }),
    });
    expect(attempt.failedGroups['big']?.ResourcesExhausted?.['web']?.CPU).toBe(3 * 99_999);
    expect(world.live()).toEqual(names(0));
    expect(attempt.wanted).toEqual({ big: 3, web: 1 });
  });

  it('SC-30: what was asked for is summed up where that dimension was exhausted, also by those that were not tried', () => {
    const task = fixtures.aTask();
    const Tasks = [{ ...task, Resources: { ...task.Resources, CPU: 9_000, MemoryMB: 100 } }];
    world.addNode();
    world.register(jobOf({ Count: 3, Tasks }));
    expect(world.attempt().failedGroups['web']).toMatchObject({
      CoalescedFailures: 2,
      DimensionExhausted: { cpu: 1 },
      ResourcesExhausted: { web: { CPU: 27_000, MemoryMB: 0 } },
    });
    const Constraints = [{ LTarget: '${meta.none}', RTarget: 'x', Operand: '=' }];
    world.register(jobOf({ Count: 3, Tasks, Constraints }));
    expect(world.attempt().failedGroups['web']).toMatchObject({ DimensionExhausted: null, ResourcesExhausted: null });
  });

  it('SC-45, SC-48, SC-53: a constraint is checked once per class, and named', () => {
    const Constraints = [{ LTarget: '${attr.kernel.name}', RTarget: 'windows', Operand: '=' }];
    for (let i = 0; i < 3; i++) world.addNode();
    world.register(jobOf({}, { Constraints }));
    const { failedGroups, blocked } = world.attempt();
    expect(failedGroups['web']).toMatchObject({
      NodesFiltered: 3,
      ConstraintFiltered: { '${attr.kernel.name} = windows': 1, 'computed class ineligible': 2 },
    });
    expect(Object.values(blocked[0]!.classEligibility)).toEqual([false]);
    expect(blocked[0]!.escaped).toBe(false);
  });

  it('SC-36, SC-54: a constraint on something unique escapes the class', () => {
    const node = world.addNode();
    const Constraints = [{ LTarget: '${node.unique.id}', RTarget: 'other', Operand: '=' }];
    world.register(jobOf({ Constraints }));
    const { failedGroups, blocked } = world.attempt();
    expect(failedGroups['web']?.ConstraintFiltered).toEqual({ '${node.unique.id} = other': 1 });
    expect(blocked).toMatchObject([{ escaped: true }]);
    world.register(jobOf({ Constraints: [{ ...Constraints[0]!, RTarget: node.ID }] }));
    expect(placedBy(world.attempt())).toHaveLength(1);
  });

  it('SC-47, SC-345: an unhealthy driver filters its node and says nothing about the class', () => {
    const healthy = fixtures.aNode().Drivers['mock_driver']!;
    world.addNode({ Drivers: { mock_driver: { ...healthy, Healthy: false } } });
    world.register(jobOf({}));
    const { failedGroups, blocked } = world.attempt();
    expect(failedGroups['web']?.ConstraintFiltered).toEqual({ 'missing drivers': 1 });
    expect(Object.values(blocked[0]!.classEligibility)).toEqual([true]);
    const second = world.addNode();
    expect(placedBy(world.attempt())).toMatchObject([{ NodeID: second.ID }]);
  });

  it('SC-37, SC-40: no candidates at all: nothing evaluated, nothing available', () => {
    world.addNode({ NodePool: 'gpu' });
    world.addNode({ SchedulingEligibility: 'ineligible' });
    world.addNode({ Datacenter: 'dc9' });
    world.register(jobOf({}, { Datacenters: ['dc1'] }));
    expect(world.attempt().failedGroups['web']).toMatchObject({
      NodesEvaluated: 0,
      NodesInPool: 0,
      NodesAvailable: {},
    });
  });

  it('SC-75: a CSI volume that is not there is named, so that registering it can wake the evaluation', () => {
    world.addNode();
    const Volumes = {
      data: {
        Name: 'data',
        Type: 'csi',
        Source: 'db',
        ReadOnly: false,
        Sticky: false,
        AccessMode: '',
        AttachmentMode: '',
        MountOptions: null,
        PerAlloc: false,
      },
    };
    world.register(jobOf({ Volumes }));
    expect(world.attempt().blocked).toMatchObject([{ escaped: true, missingResources: ['csi-volume:default:db'] }]);
  });

  it('SC-60, SC-61: distinct_hosts puts one on each node', () => {
    world.addNode();
    world.addNode();
    const Constraints = [{ LTarget: '', RTarget: '', Operand: 'distinct_hosts' }];
    world.register(jobOf({ Count: 3 }, { Constraints }));
    const attempt = world.run();
    expect(new Set(placedBy(attempt).map((a) => a.NodeID)).size).toBe(2);
    expect(attempt.failedGroups['web']?.ConstraintFiltered).toEqual({ distinct_hosts: 2 });
  });

  it('SC-62, SC-63: distinct_property counts what the plan itself places', () => {
    for (const rack of ['a', 'a', 'b']) world.addNode({ Meta: { rack }, ComputedClass: `v1:${rack}` });
    const Constraints = [
      { LTarget: '${meta.rack}', RTarget: 'none', Operand: '!=' },
      { LTarget: '${meta.rack}', RTarget: '1', Operand: 'distinct_property' },
    ];
    world.register(jobOf({ Count: 3 }, { Constraints }));
    const attempt = world.run();
    expect(placedBy(attempt)).toHaveLength(2);
    expect(attempt.failedGroups['web']?.ConstraintFiltered).toEqual({
      'distinct_property: ${meta.rack}=a used by 1 allocs': 2,
      'distinct_property: ${meta.rack}=b used by 1 allocs': 1,
    });
  });

  it('SC-84, SC-85: a static port is given once per address, then the node is exhausted', () => {
    world.addNode();
    const Networks = [
      fixtures.aNetwork({
        Mode: '',
        ReservedPorts: [{ Label: 'http', Value: 8080, To: 0, HostNetwork: 'default', IgnoreCollision: false }],
      }),
    ];
    world.register(jobOf({ Count: 2, Networks }));
    const attempt = world.run();
    expect(placedBy(attempt)).toHaveLength(1);
    expect(attempt.failedGroups['web']?.DimensionExhausted).toEqual({
      'network: reserved port collision http=8080': 1,
    });
  });

  it('SC-98: what was told to stop still takes its room, unless this plan stops it', () => {
    world.addNode();
    const task = fixtures.aTask();
    const big = { ...task, Resources: { ...task.Resources, CPU: 3_000 } };
    world.register(jobOf({ Tasks: [big] }));
    world.run();
    world.stopJob('web');
    world.run({ TriggeredBy: 'job-deregister' });
    world.register(jobOf({ Tasks: [big] }, { ID: 'other' }));
    expect(placedBy(world.attempt({ JobID: 'other' }))).toEqual([]);
    world.report(world.allocs()[0]!, { ClientStatus: 'complete', TaskStates: deadTask(false) });
    expect(placedBy(world.attempt({ JobID: 'other' }))).toHaveLength(1);
  });
});

describe('a service that may preempt', () => {
  it('SC-142: says how many allocations it preempts for each group', () => {
    const node = world.addNode();
    const task = fixtures.aTask();
    const sized = (CPU: number) => ({ Tasks: [{ ...task, Resources: { ...task.Resources, CPU } }] });
    const Job = jobOf(sized(3_000), { ID: 'low', Priority: 10 });
    const victim = fixtures.anAlloc({ Job, NodeID: node.ID, ClientStatus: 'running' });
    world.state.tables.allocs.replace(victim.ID, victim);
    world.register(jobOf(sized(2_000), { Priority: 80 }));
    const { plan, annotations } = world.attempt();
    expect(plan.NodePreemptions[node.ID]?.map(({ ID }) => ID)).toEqual([victim.ID]);
    expect(annotations.DesiredTGUpdates['web']).toMatchObject({ Preemptions: 1, Place: 1 });
  });
});

describe("a replacement's reschedule tracker", () => {
  const S = NS_PER_SECOND;
  const ReschedulePolicy = {
    Attempts: 0,
    Interval: 0,
    Delay: S,
    DelayFunction: 'exponential',
    MaxDelay: 60 * S,
    Unlimited: true,
  };
  const Disconnect = { LostAfter: 3_600 * S, StopOnClientAfter: null, Replace: true, Reconcile: 'best_score' as const };
  /** An allocation that was placed again just now, and would next wait for the longest time. */
  const replacedNow = () => {
    const node = world.addNode();
    world.addNode();
    world.register(jobOf({ Update: null, ReschedulePolicy, Disconnect }, { Datacenters: ['*'] }));
    world.run();
    const [alloc] = world.allocs();
    world.report(alloc!, { ClientStatus: 'running' });
    const Events = [
      { RescheduleTime: world.nowMs * 1e6, PrevAllocID: fixtures.uuid(1), PrevNodeID: node.ID, Delay: 60 * S },
    ];
    const stored = { ...world.allocs()[0]!, RescheduleTracker: { Events, LastReschedule: 'ok' as const } };
    world.state.tables.allocs.replace(stored.ID, stored);
    return { ...stored, node: world.state.tables.nodes.get(stored.NodeID)! };
  };
  const nextDelayOf = (previousId: string) =>
    world
      .allocs()
      .find((alloc) => alloc.PreviousAllocation === previousId)
      ?.RescheduleTracker?.Events.at(-1)?.Delay;
  const later = (evalId: string) => world.commit(world.attemptFor(world.state.tables.evals.get(evalId)!));

  it('SC-171, SC-264: counts from the failure, and not from when its follow-up ran', () => {
    const { ID } = replacedNow();
    world.nowMs += 30_000;
    world.report(world.allocs()[0]!, { ClientStatus: 'failed', TaskStates: deadTask(true) });
    const [followup] = world.run({ TriggeredBy: 'alloc-failure' }).followups;
    world.nowMs += 60_000;
    later(followup!.ID);
    expect(nextDelayOf(ID)).toBe(60 * S);
  });

  it('SC-171, SC-264: counts from when the node disconnected, and not from when its follow-up ran', () => {
    const { ID, node } = replacedNow();
    world.nowMs += 30_000;
    world.nodeIs(node, 'disconnected');
    const { followups } = world.run({ TriggeredBy: 'node-update' });
    const followup = followups.find(({ WaitUntil }) => WaitUntil === new Date(world.nowMs + 60_000).toISOString());
    world.nowMs += 60_000;
    later(followup!.ID);
    expect(nextDelayOf(ID)).toBe(60 * S);
  });

  it('SC-171, SC-264: counts from now for an allocation that becomes unknown in the same plan', () => {
    const { ID, node } = replacedNow();
    world.nowMs += 61_000;
    world.nodeIs(node, 'disconnected');
    world.run({ TriggeredBy: 'node-update' });
    expect(nextDelayOf(ID)).toBe(S);
  });
});

describe('a replacement with a disk that is kept', () => {
  const sized = (run_for: string, CPU = 100) => {
    const task = fixtures.aTask({ Config: { run_for } });
    return [{ ...task, Resources: { ...task.Resources, CPU } }];
  };
  /** The node of the replacement, where the new version prefers another node by an affinity. */
  const movedTo = (
    over: Partial<Job>,
    EphemeralDisk = { Sticky: true, SizeMB: 300, Migrate: false },
  ): 'same' | 'other' => {
    const Datacenters = ['dc1', 'dc2'];
    const node = world.addNode();
    world.register(jobOf({ EphemeralDisk }, { Datacenters }));
    world.run();
    const other = world.addNode();
    const Affinities = [{ LTarget: '${node.unique.id}', RTarget: other.ID, Operand: '=', Weight: 100 }];
    world.register(jobOf({ EphemeralDisk, Tasks: sized('2h'), Affinities }, { Datacenters, ...over }));
    const [placed] = placedBy(world.run());
    expect([node.ID, other.ID]).toContain(placed?.NodeID);
    return placed?.NodeID === node.ID ? 'same' : 'other';
  };

  it.each<['same' | 'other', Partial<Job>]>([
    ['same', {}],
    ['other', { Datacenters: ['dc1', 'dc3'] }],
    ['other', { Datacenters: ['dc1'] }],
    ['other', { NodePool: 'all' }],
  ])('SC-44, SC-333: goes to the %s node when the job changes by %j', (where, over) => {
    expect(movedTo(over)).toBe(where);
  });

  it.each([
    ['same', false, true],
    ['other', false, false],
  ] as const)('SC-44: goes to the %s node where the disk is sticky: %s, migrated: %s', (where, Sticky, Migrate) => {
    expect(movedTo({}, { Sticky, SizeMB: 300, Migrate })).toBe(where);
  });

  it('SC-44: goes to any node that has room if its node is too small for it', () => {
    const EphemeralDisk = { Sticky: true, SizeMB: 300, Migrate: false };
    const node = world.addNode();
    world.register(jobOf({ EphemeralDisk }));
    world.run();
    const { NodeResources } = node;
    const large = world.addNode({
      NodeResources: { ...NodeResources, Cpu: { ...NodeResources.Cpu, CpuShares: 2 * NodeResources.Cpu.CpuShares } },
    });
    world.register(jobOf({ EphemeralDisk, Tasks: sized('2h', NodeResources.Cpu.CpuShares + 1) }));
    expect(placedBy(world.run())).toMatchObject([{ NodeID: large.ID }]);
  });
});

describe('a replacement while canaries wait', () => {
  it('SC-150: has the resources of the older version', () => {
    const nodes = [world.addNode(), world.addNode()];
    const version = (CPU: number, Canary: number): Job => {
      const task = fixtures.aTask();
      const group = { Tasks: [{ ...task, Resources: { ...task.Resources, CPU } }], Count: 2 };
      return fixtures.aJob({
        TaskGroups: [
          fixtures.aGroup({ Name: 'first' }),
          fixtures.aGroup({ ...group, Update: { ...fixtures.aGroup().Update!, Canary } }),
        ],
      });
    };
    world.register(version(100, 0));
    world.run();
    world.allRunHealthy();
    world.settle();
    world.register(version(200, 1));
    world.run();
    world.allRunHealthy();
    const lost = world
      .allocs()
      .find((a) => a.TaskGroup === 'web' && a.Job?.Version === 0 && a.DesiredStatus === 'run')!;
    world.nodeDown(nodes.find(({ ID }) => ID === lost.NodeID)!);
    const replaced = placedBy(world.run({ TriggeredBy: 'node-update' })).find((a) => a.PreviousAllocation === lost.ID);
    expect(replaced?.AllocatedResources.Tasks['web']?.Cpu.CpuShares).toBe(100);
  });
});

describe('a replacement of a failed allocation', () => {
  const ReschedulePolicy = { ...fixtures.aGroup().ReschedulePolicy!, Delay: NS_PER_SECOND };
  /** A failed allocation that is due, on its node. */
  const failing = () => {
    const node = world.addNode();
    world.register(jobOf({ ReschedulePolicy, Update: null }));
    world.run();
    const [failed] = world.allocs();
    world.report(failed!, { ClientStatus: 'failed', TaskStates: deadTask(true) });
    return { node, failed: failed! };
  };

  it('SC-152: stops it, whose tracker notes that, also if it had none', () => {
    const { failed } = failing();
    const attempt = world.run({ TriggeredBy: 'alloc-failure' });
    expect(stoppedBy(attempt)).toMatchObject([
      { ID: failed.ID, RescheduleTracker: { Events: [], LastReschedule: 'ok' } },
    ]);
    expect(placedBy(attempt)).toMatchObject([{ PreviousAllocation: failed.ID }]);
  });

  it('SC-151: that finds no node is noted in it, and it is not stopped', () => {
    const { node, failed } = failing();
    world.makeIneligible(node);
    const attempt = world.run({ TriggeredBy: 'alloc-failure' });
    expect(stoppedBy(attempt)).toEqual([]);
    expect(placedBy(attempt)).toMatchObject([
      { ID: failed.ID, Job: null, RescheduleTracker: { Events: [], LastReschedule: 'no placement' } },
    ]);
  });

  it('SC-151, SC-313: that finds no node is not noted on a node that accepts no rewrite', () => {
    const { node } = failing();
    world.nodeDown(node);
    const attempt = world.run({ TriggeredBy: 'node-update' });
    expect(Object.keys(attempt.failedGroups)).toEqual(['web']);
    expect([placedBy(attempt), stoppedBy(attempt)]).toEqual([[], []]);
  });
});
