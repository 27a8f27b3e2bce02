import { NO_TRANSITION, NS_PER_SECOND, rfc3339FromNs, type Allocation, type TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { NOW_NS, ReconcilingFixture, stoppedIndexes } from './reconciling.fixture.js';

const S = NS_PER_SECOND;
const moving: Partial<Allocation> = { DesiredTransition: { ...NO_TRANSITION, Migrate: true } };
const Disconnect = { LostAfter: 600 * S, StopOnClientAfter: null, Replace: true, Reconcile: '' };
const worldOf = (Count: number, over: Partial<TaskGroup> = {}): ReconcilingFixture =>
  ReconcilingFixture.of({ Count, Update: null, ReschedulePolicy: null, ...over });
const addAll = (world: ReconcilingFixture, ...indexes: number[]): Allocation[] => indexes.map((at) => world.add(at));
/** An allocation that is unknown on its disconnected node. */
const away = (world: ReconcilingFixture, at: number): Allocation => {
  const AllocStates = [{ Field: 0 as const, Value: 'unknown', Time: rfc3339FromNs(NOW_NS - S) }];
  return world.taint(world.add(at, { ClientStatus: 'unknown', AllocStates }), { Status: 'disconnected' });
};

describe('allocations beyond the count (SC-209, SC-210)', () => {
  it.each<[string, number, number[], number[]]>([
    ['as many as wanted', 3, [0, 1, 2], []],
    ['the highest names', 2, [0, 1, 2, 3], [2, 3]],
    ['one of two with a name', 2, [0, 1, 1], [1]],
    ['all but one with a name', 1, [0, 0, 0], [0, 0]],
  ])('%s', (_, Count, indexes, stopped) => {
    const world = worldOf(Count);
    addAll(world, ...indexes);
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual(stopped);
    expect(wants.stops.every(({ description }) => description === 'alloc not needed due to job update')).toBe(true);
    expect(wants.desired['web']).toMatchObject({ Stop: stopped.length, Ignore: indexes.length - stopped.length });
    expect(wants.placements).toEqual([]);
  });

  it('SC-210, SC-212: those that move come first, with the highest names, and are not placed again', () => {
    const world = worldOf(3);
    addAll(world, 0, 1, 4);
    for (const at of [2, 3]) world.add(at, moving);
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([2, 3]);
    expect(wants).toMatchObject({ placements: [], desired: { web: { Migrate: 0, Stop: 2, Ignore: 3 } } });
    expect(wants.stops.map(({ description }) => description)).toEqual(
      Array(2).fill('alloc not needed due to job update'),
    );
  });

  it('SC-210: the name of one that moved counts no more when the next one is chosen', () => {
    const world = worldOf(1);
    addAll(world, 0, 1);
    world.add(2, moving);
    expect(stoppedIndexes(world.run())).toEqual([2, 1]);
  });

  it('SC-210: one that moves stays in the group if there is no more surplus', () => {
    const world = worldOf(2);
    addAll(world, 0);
    for (const at of [1, 2]) world.add(at, moving);
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([2, 1]);
    expect(wants.desired['web']).toMatchObject({ Migrate: 1, Stop: 1 });
  });

  it('SC-210: any other one, if the highest names are of allocations that are replaced', () => {
    const ReschedulePolicy = { ...fixtures.aGroup().ReschedulePolicy!, Delay: S };
    const world = worldOf(1, { ReschedulePolicy });
    addAll(world, 0, 1);
    world.add(5, { ClientStatus: 'failed', ModifyTime: NOW_NS - 60 * S });
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([0]);
    expect(wants.placements).toEqual([]);
  });

  it('SC-195, SC-209: unknown ones do not count, and of one name a known one stops first', () => {
    const world = worldOf(1, { Disconnect });
    away(world, 0);
    const [known] = addAll(world, 0);
    expect(world.run().stops).toEqual([]);
    const [second] = addAll(world, 0);
    away(world, 0);
    const [stop, ...others] = world.run().stops;
    expect([known!.ID, second!.ID]).toContain(stop?.alloc.ID);
    expect(others).toEqual([]);
  });

  it('SC-211: one that was stopped before takes its place, and is not stopped again', () => {
    const world = ReconcilingFixture.of({ Count: 1, ReschedulePolicy: null }, { Type: 'batch' });
    addAll(world, 0);
    world.add(1, {
      DesiredStatus: 'stop',
      ClientStatus: 'complete',
      DesiredTransition: { ...NO_TRANSITION, MigrateDisablePlacement: true },
    });
    const wants = world.run();
    expect(wants).toMatchObject({ stops: [], placements: [], desired: { web: { Stop: 1, Ignore: 1 } } });
  });
});

describe('beside canaries', () => {
  /** Three allocations of the version before, with a count of two, and a canary with the name of the first. */
  const withCanary = (Promoted: boolean) => {
    const world = worldOf(2, { Update: { ...fixtures.aGroup().Update!, Canary: 1 } });
    world.olderIs = 'ignore';
    const deployment = world.deploy();
    const olds = [0, 1, 2].map((at) => world.addOld(at));
    const canary = world.add(0, {
      DeploymentID: deployment.ID,
      DeploymentStatus: { Healthy: true, Timestamp: null, Canary: true, ModifyIndex: 0 },
    });
    const state = { DesiredCanaries: 1, DesiredTotal: 2, PlacedCanaries: [canary.ID], Promoted };
    deployment.TaskGroups['web'] = fixtures.aDeploymentState(state);
    return { wants: world.run(), olds };
  };

  it('SC-209, SC-219: a waiting canary is no surplus, and neither is the allocation whose name it has', () => {
    const { wants, olds } = withCanary(false);
    expect(wants.stops.map(({ alloc }) => alloc.ID)).toEqual([olds[2]!.ID]);
  });

  it('SC-210: once it is promoted, the allocation with its name stops first', () => {
    const { wants, olds } = withCanary(true);
    expect(wants.stops.map(({ alloc }) => alloc.ID)).toEqual([olds[0]!.ID, olds[2]!.ID]);
  });
});
