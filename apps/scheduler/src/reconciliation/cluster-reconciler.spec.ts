import { NO_TRANSITION, rfc3339FromNs, type Allocation, type Node } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { indexesOf, ReconcilingFixture, stoppedIndexes } from './reconciling.fixture.js';

const S = 1e9;
const POLICY = { ...fixtures.aGroup().ReschedulePolicy!, Delay: 30 * S, DelayFunction: 'constant' as const };
const NEVER = { ...POLICY, Attempts: 0, Unlimited: false };

/** The follow-ups when a deployment succeeds, one of whose two allocations is like this. */
function afterSuccess(
  over: Partial<Allocation>,
  { policy = POLICY, node }: { policy?: typeof POLICY; node?: Partial<Node> } = {},
) {
  const world = ReconcilingFixture.of({ Count: 2, ReschedulePolicy: policy });
  const web = fixtures.aDeploymentState({ DesiredTotal: 2, PlacedAllocs: 2, HealthyAllocs: 2 });
  const { ID } = world.deploy({ TaskGroups: { web } });
  world.add(0, { DeploymentID: ID });
  const alloc = world.add(1, { DeploymentID: ID, ClientStatus: 'failed', ModifyTime: world.nowNs - S, ...over });
  if (node) world.taint(alloc, node);
  const { deploymentUpdates, followups, rewrites } = world.run();
  expect(deploymentUpdates).toMatchObject([{ DeploymentID: ID, Status: 'successful' }]);
  expect([...rewrites.values()].map(({ ID: id, FollowupEvalID }) => [id, FollowupEvalID])).toEqual(
    followups.map((followup) => [alloc.ID, followup.ID]),
  );
  return followups.map(({ WaitUntil }) => WaitUntil);
}
const at = (fromNowNs: number) => rfc3339FromNs(ReconcilingFixture.of({}).nowNs + fromNowNs);
const forced = { DesiredTransition: { ...NO_TRANSITION, ForceReschedule: true } };

describe('an allocation that failed in a deployment which succeeds now', () => {
  it('SC-168, SC-257: has the follow-up that it would have had, but none in the past', () => {
    expect(afterSuccess({})).toEqual([at(29 * S)]);
    const { nowNs } = ReconcilingFixture.of({});
    expect(afterSuccess({ ModifyTime: nowNs - 60 * S })).toEqual([at(0)]);
  });

  it('SC-169: has one now if a user forced it, whatever its policy', () => {
    expect([afterSuccess(forced), afterSuccess(forced, { policy: NEVER })]).toEqual([[at(0)], [at(0)]]);
  });

  it.each<[string, Partial<Allocation>, Parameters<typeof afterSuccess>[1]?]>([
    ['may not be tried again', {}, { policy: NEVER }],
    ['runs, although a user forced it', { ClientStatus: 'running', ...forced }],
    ['is of another deployment, and may not be tried again', { DeploymentID: 'other' }, { policy: NEVER }],
    ['is on a node whose allocations no plan rewrites', {}, { node: { Status: 'down' } }],
  ])('SC-168, SC-313: has none if it %s', (_, over, given) => {
    expect(afterSuccess(over, given)).toEqual([]);
  });
});

describe('the order of what a group wants', () => {
  const group = (Count: number) =>
    ReconcilingFixture.of({ Count, Update: null, ReschedulePolicy: { ...POLICY, Delay: 0 } });
  const placed = (world: ReconcilingFixture) => indexesOf(world.run().placements);

  it('SC-199: lost allocations by name, before those that were disconnected for too long', () => {
    const world = group(3);
    const Disconnect = { LostAfter: S, StopOnClientAfter: null, Replace: true, Reconcile: 'best_score' as const };
    const Job = { ...world.job, TaskGroups: world.job.TaskGroups.map((one) => ({ ...one, Disconnect })) };
    const AllocStates = [{ Field: 0, Value: 'unknown', Time: rfc3339FromNs(world.nowNs - 60 * S) }];
    world.add(0, { Job, ClientStatus: 'unknown', AllocStates });
    for (const index of [2, 1]) world.taint(world.add(index), { Status: 'down' });
    const wants = world.run();
    expect([stoppedIndexes(wants), indexesOf(wants.placements)]).toEqual([
      [1, 2, 0],
      [1, 2, 0],
    ]);
  });

  it('SC-171, SC-229: due replacements by name, and what migrates after them', () => {
    const world = group(4);
    for (const index of [3, 2]) world.add(index, { DesiredTransition: { ...NO_TRANSITION, Migrate: true } });
    for (const index of [1, 0]) world.add(index, { ClientStatus: 'failed', ModifyTime: world.nowNs - S });
    expect(placed(world)).toEqual([0, 1, 2, 3]);
  });

  it('SC-206: names that are missing from the lowest on', () => {
    const world = group(4);
    world.add(1);
    expect(placed(world)).toEqual([0, 2, 3]);
  });

  it('SC-223: replacements by name', () => {
    const world = group(3);
    for (const index of [2, 0, 1]) world.addOld(index);
    expect(indexesOf(world.run().destructive)).toEqual([0, 1, 2]);
  });

  it('SC-245: a stopped job stops its allocations as they are stored', () => {
    const world = group(3);
    for (const index of [2, 0, 1]) world.add(index);
    world.job = { ...world.job, Stop: true };
    expect(stoppedIndexes(world.run())).toEqual([2, 0, 1]);
  });

  it('SC-245, SC-247: nothing of a stopped job that has ended is stopped, or counted', () => {
    const world = group(3);
    world.add(0, { ClientStatus: 'complete' });
    world.add(1, { ClientStatus: 'failed' });
    world.add(2);
    world.job = { ...world.job, Stop: true };
    const wants = world.run();
    expect([stoppedIndexes(wants), wants.desired['web']?.Stop]).toEqual([[2], 1]);
  });

  it.each([
    ['by their policy', {}],
    ['by force', forced],
  ])(
    'SC-174: allocations that one follow-up covers %s, by name, whether or not their deployment succeeds',
    (_, over) => {
      const covered = (deployed: boolean) => {
        const world = ReconcilingFixture.of({ Count: 2, ReschedulePolicy: POLICY });
        const web = fixtures.aDeploymentState({ DesiredTotal: 2, PlacedAllocs: 2, HealthyAllocs: 2 });
        const DeploymentID = deployed ? world.deploy({ TaskGroups: { web } }).ID : '';
        const failed = {
          DeploymentID,
          ClientStatus: 'failed',
          ModifyTime: world.nowNs,
          ...(deployed && over),
        } as const;
        for (const index of [1, 0]) world.add(index, failed);
        const { rewrites, followups } = world.run();
        expect(followups).toHaveLength(1);
        return indexesOf([...rewrites.values()].map(({ Name: name }) => ({ name })));
      };
      expect([covered(false), covered(true)]).toEqual([
        [0, 1],
        [1, 0], // as they are stored
      ]);
    },
  );

  it('SC-221: canaries before what is placed beside them', () => {
    const world = ReconcilingFixture.of({ Count: 2, Update: { ...fixtures.aGroup().Update!, Canary: 1 } });
    world.before = world.job;
    world.addOld(0);
    world.taint(world.addOld(1), { Status: 'down' });
    expect(world.run().placements.map(({ canary }) => canary)).toEqual([true, false]);
  });
});
