import { NO_TRANSITION, type Allocation, type DeploymentState, type UpdateStrategy } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { indexesOf, ReconcilingFixture, stoppedIndexes } from './reconciling.fixture.js';
import type { Reconciliation } from './reconciliation.js';

const canary = (Healthy: boolean | null = null): Partial<Allocation> => ({
  DeploymentStatus: { Healthy, Timestamp: null, Canary: true, ModifyIndex: 0 },
});
const canariesOf = ({ placements }: Reconciliation): number[] => indexesOf(placements.filter((one) => one.canary));

/** `Count` allocations of the version before, and canaries of the deployment of the present one. */
function canarying(
  Count: number,
  canaries: Partial<Allocation>[],
  update: Partial<UpdateStrategy> = {},
  state: Partial<DeploymentState> = {},
) {
  const Canary = Math.max(1, canaries.length);
  const Update = { ...fixtures.aGroup().Update!, MaxParallel: 1, Canary, ...update };
  const world = ReconcilingFixture.of({ Count, Update });
  for (let at = 0; at < Count; at++) world.addOld(at);
  const deployment = world.deploy();
  const made = canaries.map((over, at) => world.add(at, { DeploymentID: deployment.ID, ...canary(), ...over }));
  deployment.TaskGroups['web'] = fixtures.aDeploymentState({
    DesiredCanaries: Canary,
    DesiredTotal: Count,
    PlacedCanaries: made.map(({ ID }) => ID),
    ...state,
  });
  return { world, deployment, made };
}

describe('canaries of a deployment that is over (SC-215)', () => {
  it.each<[string, (over: ReturnType<typeof canarying>) => void]>([
    ['failed', ({ deployment }) => (deployment.Status = 'failed')],
    ['of an older version', ({ deployment }) => (deployment.JobVersion = 0)],
    ['successful', ({ deployment }) => (deployment.Status = 'successful')],
  ])('are stopped, and no other allocation: %s', (_, change) => {
    const over = canarying(2, [{}, { DesiredStatus: 'stop' }]);
    change(over);
    over.world.olderIs = 'ignore';
    const wants = over.world.run();
    expect(wants.stops).toMatchObject([
      { alloc: { ID: over.made[0]!.ID }, description: 'alloc not needed due to job update' },
    ]);
    expect(wants.placements).toEqual([]);
    expect(wants.desired['web']?.Stop).toBe(1);
  });

  it('stay if they were promoted', () => {
    const over = canarying(1, [{}], {}, { Promoted: true });
    over.deployment.Status = 'successful';
    over.world.allocs.shift();
    expect(over.world.run().stops).toEqual([]);
  });
});

describe('canaries that wait (SC-216 to SC-219)', () => {
  it.each<[string, Partial<Allocation>, number[]]>([
    ['runs', {}, []],
    ['has failed', { ClientStatus: 'failed' }, []],
    ['is complete', { ClientStatus: 'complete' }, [0]],
    ['is lost', { ClientStatus: 'lost' }, [0]],
    ['is told to stop', { DesiredStatus: 'stop' }, [0]],
  ])('count, so that one is placed again, unless it %s', (_, over, placed) => {
    const { world } = canarying(2, [{}, over].reverse());
    const wants = world.run();
    expect(wants.stops).toEqual([]);
    expect(canariesOf(wants)).toEqual(placed);
    expect(wants.desired['web']?.Canary).toBe(placed.length);
  });

  it.each([
    ['lost with its node', 'alloc is lost since its node is down', 'lost'],
    ['migrated', 'alloc is being migrated', undefined],
  ])('are placed again if they are %s, which is no stop of its own', (how, description, clientStatus) => {
    const DesiredTransition = { ...NO_TRANSITION, Migrate: true };
    const { world, made } = canarying(2, [{}, how === 'migrated' ? { DesiredTransition } : {}]);
    if (how !== 'migrated') world.taint(made[1]!, { Status: 'down' });
    const wants = world.run();
    expect(wants.stops).toMatchObject([{ alloc: { ID: made[1]!.ID }, description }]);
    expect(wants.stops[0]?.clientStatus).toBe(clientStatus);
    expect(canariesOf(wants)).toEqual([1]);
    expect(wants.desired['web']).toMatchObject({ Stop: 0, Canary: 1, Ignore: 3, DestructiveUpdate: 0 });
  });

  it('do not count towards the number of allocations', () => {
    const { world } = canarying(3, [{}, {}]);
    world.before = { ...world.job, Version: 0 };
    world.allocs.splice(1, 1);
    const wants = world.run();
    expect(indexesOf(wants.placements)).toEqual([1]);
    expect(wants.placements).toMatchObject([{ canary: false, olderVersion: true }]);
    expect(wants.stops).toEqual([]);
  });

  it('that were promoted count, also on a node that is lost', () => {
    const { world, made } = canarying(2, [{}], {}, { Promoted: true });
    world.taint(made[0]!, { Status: 'down' });
    world.olderIs = 'ignore';
    const wants = world.run();
    expect(stoppedIndexes(wants)).toEqual([0]);
    expect(canariesOf(wants)).toEqual([]);
    expect(wants.stops).toMatchObject([{ clientStatus: 'lost' }]);
  });
});

describe('new canaries (SC-208, SC-218)', () => {
  it.each<[string, number, Partial<UpdateStrategy>, number[]]>([
    ['as many as the group wants', 4, { Canary: 2 }, [0, 1]],
    ['one', 4, { Canary: 1 }, [0]],
    ['none', 4, { Canary: 0 }, []],
    ['more than there are allocations, in two steps', 2, { Canary: 4 }, [0, 1]],
  ])('take the names that they will replace: %s', (_, Count, update, placed) => {
    const Update = { ...fixtures.aGroup().Update!, MaxParallel: 1, ...update };
    const world = ReconcilingFixture.of({ Count, Update });
    for (let at = 0; at < Count; at++) world.addOld(at);
    const wants = world.run();
    expect(canariesOf(wants)).toEqual(placed);
    expect(wants.desired['web']?.Canary).toBe(update.Canary);
    expect(wants.deployment?.TaskGroups['web']?.DesiredCanaries).toBe(update.Canary);
    expect(wants.placements.every((one) => one.previous === undefined && !one.olderVersion)).toBe(true);
  });

  it('take the one name that is left to replace', () => {
    const { world } = canarying(5, [{ ClientStatus: 'complete' }]);
    for (const at of [4, 2, 1, 0]) Object.assign(world.allocs[at]!, { Job: world.job });
    expect(canariesOf(world.run())).toEqual([3]);
  });

  it('are not wanted without an update block, whatever the state of the deployment', () => {
    const { world } = canarying(2, [], {}, { DesiredCanaries: 0 });
    const [group] = world.job.TaskGroups;
    world.job = { ...world.job, TaskGroups: [{ ...group!, Update: null }] };
    const wants = world.run();
    expect(canariesOf(wants)).toEqual([]);
    expect(wants.desired['web']?.Canary).toBe(0);
  });

  it.each([
    ['paused', 1],
    ['failed', 1],
    ['cancelled', 0],
  ] as const)('are not placed while the deployment is %s', (Status, counted) => {
    const { world, deployment } = canarying(2, [], {}, { DesiredCanaries: 0 });
    deployment.Status = Status;
    const wants = world.run();
    expect(canariesOf(wants)).toEqual([]);
    expect(wants.desired['web']?.Canary).toBe(counted);
  });

  it('are placed again for allocations that move, or that are all gone', () => {
    const { world } = canarying(1, [{ ClientStatus: 'complete' }]);
    world.allocs[0]!.DesiredTransition = { ...NO_TRANSITION, Migrate: true };
    expect(canariesOf(world.run())).toEqual([0]);
    world.allocs.shift();
    expect(canariesOf(world.run())).toEqual([0]);
  });

  it('are not wanted where nothing is replaced', () => {
    const { world } = canarying(2, [], {}, { DesiredCanaries: 0 });
    world.olderIs = 'ignore';
    expect(canariesOf(world.run())).toEqual([]);
  });
});
