import {
  NO_TRANSITION,
  rfc3339FromNs,
  type Allocation,
  type Job,
  type TaskGroup,
  type UpdateStrategy,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { indexesOf, ReconcilingFixture, stoppedIndexes } from './reconciliation/reconciling.fixture.js';
import type { Reconciliation } from './reconciliation/reconciliation.js';
import { NameIndex } from './reconciliation/name-index.js';

const update = (over: Partial<UpdateStrategy> = {}): UpdateStrategy => ({
  ...fixtures.aGroup().Update!,
  MaxParallel: 4,
  ...over,
});
const rolling = (over: Partial<UpdateStrategy> = {}, group: Partial<TaskGroup> = {}, job: Partial<Job> = {}) =>
  ReconcilingFixture.of({ Update: update(over), ...group }, job);
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const destructiveIndexes = (wants: Reconciliation): number[] =>
  indexesOf(wants.destructive.map(({ alloc }) => ({ name: alloc.Name })));
const desired = (wants: Reconciliation) => wants.desired['web']!;
const status = (Healthy: boolean | null, Canary = false): Allocation['DeploymentStatus'] => ({
  Healthy,
  Timestamp: null,
  Canary,
  ModifyIndex: 0,
});
const state = fixtures.aDeploymentState;
const migrating = { DesiredTransition: { ...NO_TRANSITION, Migrate: true } };

/** Canaries of the job's version, placed in the world's deployment. */
function withCanaries(
  world: ReconcilingFixture,
  indexes: number[],
  over: Parameters<typeof state>[0] = {},
): Allocation[] {
  const deployment = world.deploy({ TaskGroups: { web: state({ DesiredCanaries: indexes.length, ...over }) } });
  const canaries = indexes.map((index) =>
    world.add(index, { DeploymentID: deployment.ID, DeploymentStatus: status(over.Promoted ? true : null, true) }),
  );
  deployment.TaskGroups['web']!.PlacedCanaries = canaries.map(({ ID }) => ID);
  return canaries;
}

describe('creating deployments', () => {
  it('SC-236 to SC-238: a new job is placed whole, in a deployment of its groups (V1)', () => {
    const world = rolling({ AutoRevert: true }, {}, { Version: 0 });
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual(range(0, 10));
    expect(wants.deployment).toMatchObject({
      Status: 'running',
      StatusDescription: 'Deployment is running',
      JobVersion: 0,
      TaskGroups: { web: { DesiredTotal: 10, AutoRevert: true, DesiredCanaries: 0 } },
    });
    expect(wants.deploymentId).toBe(wants.deployment!.ID);
  });

  it('SC-239: what is missing of a version that runs already starts none (V2)', () => {
    const world = ReconcilingFixture.of({ Update: null });
    for (const i of range(0, 5)) world.add(i);
    expect(desired(world.run())).toMatchObject({ Place: 5, Ignore: 5 });
    const watched = rolling();
    for (const i of range(0, 5)) watched.add(i);
    expect(watched.run()).toMatchObject({ deployment: null, deploymentUpdates: [] });
  });

  it('SC-209, SC-210: surplus is stopped from the top and starts none (V3)', () => {
    const world = rolling();
    for (const i of range(0, 20)) world.add(i);
    const wants = world.run();
    expect(stoppedIndexes(wants).toSorted((a, b) => a - b)).toEqual(range(10, 20));
    expect(desired(wants)).toMatchObject({ Stop: 10, Ignore: 10 });
    expect(wants.deployment).toBeNull();
  });

  it('SC-244: batch jobs know no deployments', () => {
    const world = rolling({}, {}, { Type: 'batch' });
    world.deploy();
    expect(world.run()).toMatchObject({ deployment: null, deploymentUpdates: [], deploymentId: '' });
  });
});

describe('limits (SC-222, SC-223)', () => {
  it('SC-222: a new version replaces max_parallel, lowest names first (V4)', () => {
    const world = rolling();
    for (const i of range(0, 10)) world.addOld(i);
    const wants = world.run();
    expect(destructiveIndexes(wants)).toEqual([0, 1, 2, 3]);
    expect(desired(wants)).toMatchObject({ DestructiveUpdate: 4, Ignore: 6 });
    expect(wants.deployment?.TaskGroups['web']).toMatchObject({ DesiredTotal: 10 });
  });

  it('SC-223: placements use the limit up first (V5)', () => {
    const world = rolling();
    for (const i of range(0, 7)) world.addOld(i);
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual([7, 8, 9]);
    expect(destructiveIndexes(wants)).toEqual([0]);
    expect(desired(wants).Ignore).toBe(6);
  });

  it.each([0, 1, 2, 3, 4])('SC-222: %d of 4 healthy let as many follow (V6)', (healthy) => {
    const world = rolling();
    const { ID } = world.deploy({ TaskGroups: { web: state({ DesiredTotal: 10 }) } });
    for (const i of range(0, 4))
      world.add(i, { DeploymentID: ID, DeploymentStatus: i < healthy ? status(true) : null });
    for (const i of range(4, 10)) world.addOld(i);
    const wants = world.run();
    expect(destructiveIndexes(wants)).toEqual(range(4, 4 + healthy));
    expect(desired(wants).Ignore).toBe(10 - healthy);
    expect(wants.deployment).toBeNull();
  });

  it('SC-222: one that is unhealthy stops the rollout (V7)', () => {
    const world = rolling();
    const { ID } = world.deploy({ TaskGroups: { web: state({ DesiredTotal: 10 }) } });
    for (const i of range(0, 4)) world.add(i, { DeploymentID: ID, DeploymentStatus: status(i > 0) });
    for (const i of range(4, 10)) world.addOld(i);
    expect(destructiveIndexes(world.run())).toEqual([]);
  });

  it('SC-224: lost and draining ones are replaced beside the rollout (V8)', () => {
    const world = rolling();
    const { ID } = world.deploy({ TaskGroups: { web: state({ DesiredTotal: 10, HealthyAllocs: 8 }) } });
    for (const i of range(0, 8)) {
      const alloc = world.add(i, {
        DeploymentID: ID,
        DeploymentStatus: status(true),
        ...(i === 1 || i === 2 ? migrating : {}),
      });
      if (i === 0) world.taint(alloc, { Status: 'down' });
    }
    for (const i of [8, 9]) world.addOld(i);
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual([0, 1, 2]);
    expect(wants.stops.map(({ clientStatus }) => clientStatus ?? '')).toEqual(['lost', '', '']);
    expect(destructiveIndexes(wants)).toEqual([8, 9]);
    expect(desired(wants).Ignore).toBe(5);
  });

  it('SC-222, SC-227, SC-234: a failed deployment replaces what is lost, nothing else (V9)', () => {
    const world = rolling();
    const { ID } = world.deploy({ Status: 'failed', TaskGroups: { web: state({ DesiredTotal: 10 }) } });
    for (const i of range(0, 4)) {
      const alloc = world.add(i, { DeploymentID: ID, DeploymentStatus: status(true), ...(i === 3 ? migrating : {}) });
      if (i === 2) world.taint(alloc, { Status: 'down' });
    }
    for (const i of range(4, 10)) world.addOld(i);
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual([2, 3]);
    expect(stoppedIndexes(wants)).toEqual([2, 3]);
    expect(wants.destructive).toEqual([]);
    expect(desired(wants).Ignore).toBe(8);
    expect(wants).toMatchObject({ deployment: null, deploymentUpdates: [], deploymentId: '' });
  });

  it('SC-227, SC-228: what failed in a failed deployment is not rescheduled, what failed before is', () => {
    const world = rolling({}, { Count: 2 });
    const { ID } = world.deploy({ Status: 'failed', TaskGroups: { web: state({ DesiredTotal: 2 }) } });
    world.add(0, { DeploymentID: ID, ClientStatus: 'failed', ModifyTime: world.nowNs - 60e9 });
    world.add(1, { DeploymentID: 'before', ClientStatus: 'failed', ModifyTime: world.nowNs - 60e9 });
    const { placements } = world.run();
    expect(placements).toMatchObject([{ name: 'web.web[1]', reschedule: 'stops-previous' }]);
  });

  it('SC-168: what fails during a rollout waits for whoever watches it', () => {
    const world = rolling({}, { Count: 1 });
    const { ID } = world.deploy();
    const alloc = world.add(0, { DeploymentID: ID, ClientStatus: 'failed', ModifyTime: world.nowNs - 60e9 });
    expect(world.run()).toMatchObject({ placements: [], followups: [] });
    alloc.DesiredTransition.Reschedule = true;
    expect(world.run().placements).toMatchObject([{ previous: { ID: alloc.ID } }]);
  });

  it.each(['paused', 'pending', 'failed'] as const)(
    'DP-115: while it is %s what is lost, drained or failed before is replaced, and what changes in place does',
    (Status) => {
      const world = rolling({}, { Count: 6 });
      world.olderIs = 'in-place';
      const { ID } = world.deploy({ Status, TaskGroups: { web: state({ DesiredTotal: 6 }) } });
      const ofDeployment = { DeploymentID: ID, DeploymentStatus: status(true) };
      world.taint(world.add(0, ofDeployment), { Status: 'down' });
      world.add(1, { ...ofDeployment, ...migrating });
      world.addOld(2, { DeploymentID: 'before', ClientStatus: 'failed', ModifyTime: world.nowNs - 60e9 });
      for (const i of [3, 4]) world.addOld(i);
      world.add(5, ofDeployment);
      const wants = world.run();
      expect(indexesOf(wants.placements).toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
      expect(wants.inPlace.size).toBe(2);
      expect(wants.destructive).toEqual([]);
    },
  );

  it('SC-235, SC-226: while it is paused nothing new is placed', () => {
    const world = rolling();
    world.deploy({ Status: 'paused' });
    for (const i of range(0, 3)) world.add(i);
    for (const i of range(3, 5)) world.addOld(i);
    expect(world.run()).toMatchObject({ placements: [], destructive: [] });
  });
});

describe('canaries', () => {
  it('SC-218, SC-238: the first step of an update with canaries (V10)', () => {
    const world = rolling({ Canary: 2 });
    for (const i of range(0, 10)) world.addOld(i);
    const wants = world.run();
    expect(wants.placements).toMatchObject([
      { name: 'web.web[0]', canary: true },
      { name: 'web.web[1]', canary: true },
    ]);
    expect(wants.destructive).toEqual([]);
    expect(desired(wants)).toMatchObject({ Canary: 2, Ignore: 10, Place: 0 });
    expect(wants.deployment).toMatchObject({
      StatusDescription: 'Deployment is running but requires manual promotion',
      TaskGroups: { web: { DesiredCanaries: 2, DesiredTotal: 10 } },
    });
  });

  it('SC-238: who promotes by itself says so', () => {
    const world = rolling({ Canary: 2, AutoPromote: true });
    world.addOld(0);
    expect(world.run().deployment?.StatusDescription).toBe('Deployment is running pending automatic promotion');
  });

  it('SC-216: a lost canary is replaced by another (V11)', () => {
    const world = rolling({ Canary: 2 });
    for (const i of range(0, 10)) world.addOld(i);
    const [, second] = withCanaries(world, [0, 1]);
    world.taint(second!, { Status: 'down' });
    const wants = world.run();
    expect(wants.stops).toMatchObject([{ alloc: { ID: second!.ID }, clientStatus: 'lost' }]);
    expect(wants.placements).toMatchObject([{ name: 'web.web[1]', canary: true }]);
    expect(desired(wants)).toMatchObject({ Ignore: 11, Canary: 1, Stop: 0 });
  });

  it('SC-218: one that was evicted is placed again although all that it goes before migrates', () => {
    const world = rolling({ Canary: 1 }, { Count: 1 });
    world.addOld(0, migrating);
    const [canary] = withCanaries(world, [0]);
    Object.assign(canary!, { DesiredStatus: 'evict', ClientStatus: 'complete' });
    expect(world.run().placements).toMatchObject([
      { name: 'web.web[0]', canary: true },
      { name: 'web.web[0]', canary: false, olderVersion: true },
    ]);
  });

  it('SC-219, SC-220: a canary that is replaced takes nobody’s place: what is lost beside it is replaced too', () => {
    const world = rolling({ Canary: 1 });
    const old = range(0, 10).map((i) => world.addOld(i));
    const [canary] = withCanaries(world, [0]);
    Object.assign(canary!, { ClientStatus: 'failed', DesiredTransition: { ...NO_TRANSITION, Reschedule: true } });
    world.taint(old[7]!, { Status: 'down' });
    const wants = world.run();
    expect(wants.stops.map(({ alloc }) => alloc.ID)).toEqual([old[7]!.ID]);
    expect(wants.placements).toMatchObject([
      { name: 'web.web[0]', canary: true },
      { name: 'web.web[7]', canary: false, olderVersion: true, previous: { ID: old[7]!.ID } },
    ]);
  });

  it('SC-210: promoted, they take the places of those they stood beside (V12)', () => {
    const world = rolling({ Canary: 2, MaxParallel: 2 });
    const old = range(0, 10).map((i) => world.addOld(i));
    withCanaries(world, [0, 1], { Promoted: true, HealthyAllocs: 2, DesiredTotal: 10 });
    const wants = world.run();
    expect(wants.stops.map(({ alloc }) => alloc.ID)).toEqual([old[0]!.ID, old[1]!.ID]);
    expect(destructiveIndexes(wants)).toEqual([2, 3]);
    expect(desired(wants).Ignore).toBe(8);
  });

  it('SC-240, SC-241: promoted and healthy, and nothing left to do: successful (V13)', () => {
    const world = rolling({ Canary: 2 }, { Count: 2 });
    for (const i of [0, 1]) world.addOld(i);
    withCanaries(world, [0, 1], { Promoted: true, HealthyAllocs: 2, DesiredTotal: 2 });
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([0, 1]);
    expect(desired(wants).Ignore).toBe(2);
    expect(wants.deploymentUpdates).toMatchObject([
      { Status: 'successful', StatusDescription: 'Deployment completed successfully' },
    ]);
  });

  it('SC-168, SC-340: what failed after it had been healthy is looked at again once its deployment has succeeded', () => {
    const world = rolling({}, { Count: 1 });
    const { ID, TaskGroups } = world.deploy();
    Object.assign(TaskGroups['web']!, { PlacedAllocs: 1, HealthyAllocs: 1, DesiredTotal: 1 });
    const healthy = { Healthy: true, Canary: false, Timestamp: null, ModifyIndex: 1 };
    const alloc = world.add(0, { DeploymentID: ID, DeploymentStatus: healthy, ClientStatus: 'failed' });
    const wants = world.run();
    expect(wants.deploymentUpdates).toMatchObject([{ DeploymentID: ID, Status: 'successful' }]);
    expect(wants.placements).toEqual([]);
    expect(wants.followups).toMatchObject([{ TriggeredBy: 'alloc-failure', WaitUntil: rfc3339FromNs(world.nowNs) }]);
    // A plan commits only those that an allocation names.
    expect(wants.rewrites.get(alloc.ID)?.FollowupEvalID).toBe(wants.followups[0]!.ID);

    world.deployment = { ...world.deployment!, Status: 'successful' };
    alloc.ModifyTime = world.nowNs - 60e9;
    expect(world.run().placements).toMatchObject([{ previous: { ID: alloc.ID } }]);
    alloc.ClientStatus = 'running';
    world.deployment = { ...world.deployment, Status: 'running' };
    expect(world.run().followups).toEqual([]);
  });

  it('SC-215, SC-233: a newer version cancels and stops the canaries of the one before (V14)', () => {
    const world = rolling({ Canary: 2 }, {}, { Version: 10 });
    const before = fixtures.aDeployment({ JobVersion: 0, JobCreateIndex: world.job.CreateIndex });
    for (const i of range(0, 10)) world.addOld(i);
    const canaries = [0, 1].map((i) =>
      world.addOld(i, { DeploymentID: before.ID, DeploymentStatus: status(null, true) }),
    );
    before.TaskGroups['web'] = state({ DesiredCanaries: 2, PlacedCanaries: canaries.map(({ ID }) => ID) });
    world.deployment = before;
    const wants = world.run();
    expect(wants.deploymentUpdates).toEqual([
      { DeploymentID: before.ID, Status: 'cancelled', StatusDescription: 'Cancelled due to newer version of job' },
    ]);
    expect(wants.stops.map(({ alloc }) => alloc.ID)).toEqual(canaries.map(({ ID }) => ID));
    expect(wants.placements).toHaveLength(2);
    expect(wants.deployment?.ID).not.toBe(before.ID);
    expect(desired(wants).Stop).toBe(2);
  });

  it('SC-221: never more than Count at a time (V15)', () => {
    const world = rolling({ Canary: 7 }, { Count: 3 });
    for (const i of range(0, 3)) world.addOld(i);
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual([0, 1, 2]);
    expect(desired(wants)).toMatchObject({ Canary: 7, Place: 3 });
  });

  it('SC-208: those that are missing get the names between (V16)', () => {
    const world = rolling({ Canary: 4 });
    for (const i of range(0, 10)) world.addOld(i);
    withCanaries(world, [0, 3], { DesiredCanaries: 4 });
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual([1, 2]);
    expect(desired(wants)).toMatchObject({ Ignore: 12, Canary: 2 });
  });

  it('SC-220, SC-227: while they wait a lost one is replaced by the older version; nothing grows', () => {
    const world = rolling({ Canary: 1 }, { Count: 4 });
    const lost = world.taint(world.addOld(0), { Status: 'down' });
    world.addOld(1);
    withCanaries(world, [0]);
    const { placements } = world.run();
    expect(placements).toMatchObject([{ previous: { ID: lost.ID }, olderVersion: true, canary: false }]);
    expect(placements).toHaveLength(1);
  });

  it('SC-215: a failed deployment has its canaries stopped', () => {
    const world = rolling({ Canary: 1 }, { Count: 1 });
    world.addOld(0);
    const [canary] = withCanaries(world, [0]);
    world.deployment!.Status = 'failed';
    expect(world.run().stops).toMatchObject([{ alloc: { ID: canary!.ID } }]);
  });
});

describe('the end of deployments', () => {
  it.each(['service', 'system'] as const)('SC-232, SC-290: with its job (%s)', (Type) => {
    const world = rolling({}, {}, { Type });
    world.add(0);
    const { ID } = world.deploy();
    world.job = { ...world.job, Stop: true };
    expect(world.run()).toMatchObject({
      deploymentUpdates: [
        { DeploymentID: ID, Status: 'cancelled', StatusDescription: 'Cancelled because job is stopped' },
      ],
      stops: [{ description: 'alloc not needed due to job update' }],
    });
  });

  it('SC-233, SC-329: with the job of the same name before it', () => {
    const world = rolling();
    world.deploy({ JobCreateIndex: 3 });
    expect(world.run().deploymentUpdates).toMatchObject([{ Status: 'cancelled' }]);
  });

  it.each([
    [9, []],
    [10, [{ Status: 'successful' }]],
  ])('SC-240: %d of 10 healthy', (HealthyAllocs, updates) => {
    const world = rolling();
    const { ID } = world.deploy({ TaskGroups: { web: state({ DesiredTotal: 10, HealthyAllocs }) } });
    for (const i of range(0, 10)) world.add(i, { DeploymentID: ID });
    expect(world.run().deploymentUpdates).toMatchObject(updates);
  });

  it.each([
    ['pending', false, []],
    ['paused', false, [{ Status: 'successful' }]],
    ['running', true, [{ Status: 'blocked', StatusDescription: 'Deployment is complete but waiting for peer region' }]],
    ['unblocking', true, []],
    ['failed', false, []],
  ] as const)('SC-241: what is complete while %s (multiregion: %s)', (Status, IsMultiregion, updates) => {
    const world = rolling({}, { Count: 1 });
    const web = state({ DesiredTotal: 1, PlacedAllocs: 1, HealthyAllocs: 1 });
    const { ID } = world.deploy({ Status, IsMultiregion, TaskGroups: { web } });
    world.add(0, { DeploymentID: ID });
    expect(world.run().deploymentUpdates).toMatchObject(updates);
  });

  it.each([
    [false, []],
    [true, [{ Status: 'blocked' }]],
  ])('DP-119: a region that is paused and all in place; whether it ever ran: %s', (HasRun, updates) => {
    const world = rolling({}, { Count: 1 });
    const web = state({ DesiredTotal: 1, PlacedAllocs: 1, HealthyAllocs: 1 });
    const { ID } = world.deploy({ Status: 'paused', IsMultiregion: true, HasRun, TaskGroups: { web } });
    world.add(0, { DeploymentID: ID });
    expect(world.run().deploymentUpdates).toMatchObject(updates);
  });
});

describe('names (22.8)', () => {
  const used = (...indexes: number[]) => indexes.map((i) => ({ Name: `web.web[${i}]` }));

  it('SC-149: a name that two have is resolved by the next free one', () => {
    const index = new NameIndex('web', 'web', 4, used(0, 0, 1, 2));
    expect(index.successorOf('web.web[0]')).toBe('web.web[3]');
    expect(index.successorOf('web.web[0]')).toBe('web.web[0]');
  });

  it('SC-206, SC-207: full, it starts over; the highest are the last', () => {
    expect(new NameIndex('web', 'web', 3, used(0, 1, 2)).next(3)).toEqual(used(0, 1, 2).map(({ Name }) => Name));
    expect([...new NameIndex('web', 'web', 3, used(0, 1, 2)).highest(2)]).toEqual(['web.web[2]', 'web.web[1]']);
  });

  it('SC-205: an index beyond Count that is still in use', () => {
    expect([...new NameIndex('web', 'web', 8, used(...range(0, 9))).highest(1)]).toEqual(['web.web[8]']);
  });
});
