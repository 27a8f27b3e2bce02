import { NO_TRANSITION, NS_PER_SECOND, rfc3339FromNs, type Allocation, type TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { indexesOf, NOW_NS, ReconcilingFixture, stoppedIndexes } from './reconciling.fixture.js';

const S = NS_PER_SECOND;
const ReschedulePolicy = { ...fixtures.aGroup().ReschedulePolicy!, Delay: S, DelayFunction: 'constant' as const };
const due: Partial<Allocation> = { ClientStatus: 'failed', ModifyTime: NOW_NS - 60 * S };
const moving: Partial<Allocation> = { DesiredTransition: { ...NO_TRANSITION, Migrate: true } };
const Update = { ...fixtures.aGroup().Update!, MaxParallel: 2 };
const worldOf = (Count: number, over: Partial<TaskGroup> = {}): ReconcilingFixture =>
  ReconcilingFixture.of({ Count, Update: null, ReschedulePolicy, ...over });

describe('placements of a group (SC-225)', () => {
  it('are those that are due, then lost ones, then new names', () => {
    const world = worldOf(5);
    const [failed, lost] = [world.add(1, due), world.taint(world.add(3), { Status: 'down' })];
    world.add(0);
    const { placements, desired } = world.run();
    expect(placements.map(({ name, previous, reschedule }) => [name, previous?.ID, reschedule])).toEqual([
      ['web.web[1]', failed.ID, 'stops-previous'],
      ['web.web[3]', lost.ID, 'no'],
      ['web.web[2]', undefined, 'no'],
      ['web.web[4]', undefined, 'no'],
    ]);
    expect(desired['web']).toMatchObject({ Place: 4, Ignore: 1, Stop: 1 });
  });

  it('SC-199: of lost ones are made only up to the count', () => {
    const world = worldOf(2);
    world.add(0);
    for (const at of [1, 2]) world.taint(world.add(at), { Status: 'down' });
    expect(indexesOf(world.run().placements)).toEqual([1]);
  });

  it('of due ones are made only up to the count, without those that are unknown', () => {
    const world = worldOf(2);
    world.add(0);
    for (const at of [1, 2]) world.add(at, due);
    const { placements, stops } = world.run();
    expect([indexesOf(placements), stops]).toEqual([[1], []]);
    const away = worldOf(2, {
      Disconnect: { LostAfter: 600 * S, StopOnClientAfter: null, Replace: true, Reconcile: '' },
    });
    away.add(0);
    away.add(1, due);
    const AllocStates = [{ Field: 0 as const, Value: 'unknown', Time: rfc3339FromNs(NOW_NS - S) }];
    const unknown = away.add(1, { ClientStatus: 'unknown', AllocStates, FollowupEvalID: 'later' });
    away.taint(unknown, { Status: 'disconnected' });
    expect(indexesOf(away.run().placements)).toEqual([1]);
  });

  it('SC-224, SC-229: of moving ones are made in addition, under the same names', () => {
    const world = worldOf(2);
    world.add(0);
    const leaving = world.add(1, moving);
    const { placements, stops, desired } = world.run();
    expect(placements).toMatchObject([
      { name: 'web.web[1]', previous: { ID: leaving.ID }, reschedule: 'no', canary: false },
    ]);
    expect(stops).toMatchObject([
      { alloc: { ID: leaving.ID }, description: 'alloc is being migrated', followupEvalId: '' },
    ]);
    expect(desired['web']).toMatchObject({ Migrate: 1, Place: 0, Stop: 0, Ignore: 1 });
  });

  it('SC-236: all of them, and the updates, are what a new deployment wants', () => {
    const world = worldOf(4, { Update });
    for (const at of [0, 1]) world.addOld(at);
    world.taint(world.addOld(2), { Status: 'down' });
    const { deployment, placements, destructive } = world.run();
    expect([indexesOf(placements), destructive.length]).toEqual([[2, 3], 0]);
    expect(deployment?.TaskGroups['web']?.DesiredTotal).toBe(4);
  });
});

describe('placements while the rollout is held back (SC-227)', () => {
  const held = (Status: 'paused' | 'failed', before: number | undefined) => {
    const world = worldOf(4, { Update });
    const deployment = world.deploy({ Status });
    const group = world.job.TaskGroups[0]!;
    world.before = before === undefined ? undefined : { ...world.job, TaskGroups: [{ ...group, Count: before }] };
    return { world, deployment };
  };

  it.each([
    ['as many as the version before had', 3, [1, 2]],
    ['no more than the group has now', 9, [1, 2, 3]],
    ['none if it had no more', 1, []],
    ['none if nothing ran before', undefined, []],
  ])('fill places of the version before: %s', (_, before, placed) => {
    const { world } = held('paused', before);
    world.add(0);
    const { placements, desired } = world.run();
    expect(indexesOf(placements)).toEqual(placed);
    expect(desired['web']?.Place).toBe(placed.length);
  });

  it('fill none of a group that the deployment does not know, if nothing ran before', () => {
    const { world, deployment } = held('paused', undefined);
    deployment.TaskGroups = {};
    expect(world.run().placements).toEqual([]);
  });

  it('DP-115: fill places that the rollout itself has filled', () => {
    const { world, deployment } = held('paused', undefined);
    deployment.TaskGroups['web']!.PlacedAllocs = 2;
    world.add(0);
    expect(indexesOf(world.run().placements)).toEqual([1]);
  });

  it.each([
    ['paused', [0, 1, 2]],
    ['failed', [1, 2]],
  ] as const)(
    'SC-228: replace lost and due ones, unless they are of a deployment that failed: %s',
    (Status, placed) => {
      const { world, deployment } = held(Status, undefined);
      // An allocation of an active deployment is left to it (SC-168), unless its rescheduling is wanted.
      const DesiredTransition = { ...NO_TRANSITION, Reschedule: true };
      world.add(0, { ...due, DeploymentID: deployment.ID, DesiredTransition });
      world.add(1, { ...due, DeploymentID: 'before' });
      world.taint(world.add(2), { Status: 'down' });
      const wants = world.run();
      expect(indexesOf(wants.placements)).toEqual(placed);
      expect(stoppedIndexes(wants)).toEqual([2]);
    },
  );

  it('SC-150, DP-1110: are of the version before while a region waits for its turn', () => {
    const world = worldOf(2, { Update });
    world.deploy({ Status: 'pending', IsMultiregion: true });
    const lost = world.taint(world.addOld(0), { Status: 'down' });
    expect(world.run().placements).toMatchObject([{ previous: { ID: lost.ID }, olderVersion: true }]);
  });
});
