import {
  NO_TRANSITION,
  NS_PER_SECOND,
  rfc3339FromNs,
  type Allocation,
  type Deployment,
  type TaskGroup,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { indexesOf, NOW_NS, ReconcilingFixture } from './reconciling.fixture.js';
import type { Reconciliation } from './reconciliation.js';

const S = NS_PER_SECOND;
const Disconnect = { LostAfter: 600 * S, StopOnClientAfter: null, Replace: true, Reconcile: '' };
const ReschedulePolicy = { ...fixtures.aGroup().ReschedulePolicy!, Delay: S };
const rolling = (MaxParallel: number): Partial<TaskGroup> => ({
  Update: { ...fixtures.aGroup().Update!, MaxParallel },
});
const worldOf = (Count: number, over: Partial<TaskGroup> = {}): ReconcilingFixture =>
  ReconcilingFixture.of({ Count, Update: null, Disconnect, ReschedulePolicy, ...over });
const replacedIndexes = ({ destructive }: Reconciliation): number[] => indexesOf(destructive);
/** An unknown allocation of the version before on its disconnected node. */
const away = (world: ReconcilingFixture, at: number, over: Partial<Allocation> = {}): Allocation => {
  const AllocStates = [{ Field: 0 as const, Value: 'unknown', Time: rfc3339FromNs(NOW_NS - S) }];
  const unknown = { ClientStatus: 'unknown' as const, AllocStates, FollowupEvalID: 'later', ...over };
  return world.taint(world.addOld(at, unknown), { Status: 'disconnected' });
};

describe('destructive updates (SC-222, SC-223)', () => {
  it.each<[string, number, Partial<TaskGroup>, number[]]>([
    ['all at once without an update block', 3, {}, [0, 1, 2]],
    ['as many as may be replaced at once, lowest names first', 3, rolling(2), [0, 1]],
    ['no more than the count', 2, rolling(9), [0, 1]],
  ])('%s', (_, Count, over, replaced) => {
    const world = worldOf(Count, over);
    for (let at = 0; at < Count; at++) world.addOld(at);
    const wants = world.run();
    expect(replacedIndexes(wants)).toEqual(replaced);
    expect(wants.desired['web']).toMatchObject({ DestructiveUpdate: replaced.length, Ignore: Count - replaced.length });
  });

  it('lowest names first, and of one name by ID, whatever the order of the stored ones', () => {
    const world = worldOf(5, rolling(4));
    for (const [at, ID] of [
      [2, 'e'],
      [0, 'b'],
      [1, 'd'],
      [0, 'a'],
      [0, 'c'],
    ] as const)
      world.addOld(at, { ID });
    expect(world.run().destructive.map(({ alloc }) => alloc.ID)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('other placements come first', () => {
    const world = worldOf(4, rolling(3));
    for (const at of [0, 1]) world.addOld(at);
    const wants = world.run();
    expect([indexesOf(wants.placements), replacedIndexes(wants)]).toEqual([[2, 3], [0]]);
    const more = worldOf(6, rolling(3));
    for (const at of [0, 1]) more.addOld(at);
    expect(more.run()).toMatchObject({ destructive: [], desired: { web: { Place: 4, Ignore: 2 } } });
  });

  const inDeployment = (Healthy: boolean | null, over: Partial<Deployment> = {}): number[] => {
    const world = worldOf(5, rolling(2));
    const { ID } = world.deploy(over);
    const DeploymentStatus = { Healthy, Timestamp: null, Canary: false, ModifyIndex: 0 };
    world.add(0, { DeploymentID: ID, DeploymentStatus });
    world.add(1, { DeploymentID: 'other', DeploymentStatus: { ...DeploymentStatus, Healthy: false } });
    for (const at of [2, 3, 4]) world.addOld(at);
    return replacedIndexes(world.run());
  };

  it.each([
    ['is healthy', true, {}, [2, 3]],
    ['is not healthy yet', null, {}, [2]],
    ['is unhealthy', false, {}, []],
    ['is healthy, but it is paused', true, { Status: 'paused' as const }, []],
    ['is healthy, but it failed', true, { Status: 'failed' as const }, []],
  ])('wait for the allocations of the deployment: one %s', (_, healthy, over, replaced) => {
    expect(inDeployment(healthy, over)).toEqual(replaced);
  });

  it('an allocation whose health is not reported counts as not healthy yet', () => {
    const world = worldOf(4, rolling(2));
    const { ID } = world.deploy();
    for (const at of [0, 1]) world.add(at, { DeploymentID: ID, DeploymentStatus: null });
    for (const at of [2, 3]) world.addOld(at);
    expect(replacedIndexes(world.run())).toEqual([]);
  });
});

describe('in-place updates (SC-253, SC-255)', () => {
  it('are all made at once, and count for the deployment', () => {
    const world = worldOf(3, rolling(1));
    world.olderIs = 'in-place';
    const olds = [0, 1, 2].map((at) => world.addOld(at));
    const wants = world.run();
    expect([...wants.inPlace]).toEqual(olds.map(({ ID }) => ID));
    expect([...wants.rewrites.keys()]).toEqual(olds.map(({ ID }) => ID));
    expect(wants.desired['web']).toMatchObject({ InPlaceUpdate: 3, Ignore: 0, DestructiveUpdate: 0 });
    expect(wants.deployment?.TaskGroups['web']?.DesiredTotal).toBe(3);
  });

  it('keep what another step writes of the allocation', () => {
    const world = worldOf(1, { ReschedulePolicy: { ...ReschedulePolicy, Delay: 60 * S } });
    world.olderIs = 'in-place';
    const leaving = world.taint(world.addOld(0), { Status: 'disconnected' });
    const { rewrites, inPlace, followups } = world.run();
    expect([...inPlace]).toEqual([leaving.ID]);
    expect(rewrites.get(leaving.ID)).toMatchObject({
      ClientStatus: 'unknown',
      FollowupEvalID: followups.at(-1)!.ID,
      Job: leaving.Job,
    });
  });
});

describe('unknown allocations of an older version that were replaced (SC-196, SC-340)', () => {
  it.each<[string, (world: ReconcilingFixture) => void, number[], number]>([
    ['beyond the count they are stopped', (world) => world.addOld(1), [0, 1], 1],
    ['within the count they are replaced', () => undefined, [0, 1], 0],
    [
      'allocations that move count',
      (world) => world.add(1, { DesiredTransition: { ...NO_TRANSITION, Migrate: true } }),
      [0],
      1,
    ],
    [
      'allocations that are due count',
      (world) => world.add(1, { ClientStatus: 'failed', ModifyTime: NOW_NS - 60 * S }),
      [0],
      1,
    ],
  ])('%s', (_, add, replaced, dropped) => {
    const world = worldOf(2);
    world.addOld(0);
    const unknown = away(world, 1);
    add(world);
    const wants = world.run();
    const stopped = wants.stops.filter(({ alloc }) => alloc.ID === unknown.ID);
    expect(stopped.map(({ description }) => description)).toEqual(
      Array(dropped).fill('alloc not needed due to job update'),
    );
    expect(replacedIndexes(wants)).toEqual(replaced);
    expect(wants.destructive.some(({ alloc }) => alloc.ID === unknown.ID)).toBe(dropped === 0);
    expect(wants.desired['web']).toMatchObject({ Stop: dropped, DestructiveUpdate: replaced.length });
  });

  it('stay while nothing may be replaced', () => {
    const world = worldOf(1, rolling(1));
    world.deploy({ Status: 'paused' });
    world.addOld(0);
    away(world, 0);
    const wants = world.run();
    expect(wants).toMatchObject({ stops: [], destructive: [] });
    expect(wants.desired['web']?.Ignore).toBe(2);
  });
});
