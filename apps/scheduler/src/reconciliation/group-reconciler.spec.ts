import { NO_TRANSITION, NS_PER_MINUTE, type Allocation, type DeploymentState, type TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { ReconcilingFixture } from './reconciling.fixture.js';

/** A group of two running allocations whose deployment has found all that it wants to be healthy. */
function finished(state: Partial<DeploymentState> = {}, group: Partial<TaskGroup> = {}) {
  const world = ReconcilingFixture.of({ Count: 2, ...group });
  const web = fixtures.aDeploymentState({ DesiredTotal: 2, PlacedAllocs: 2, HealthyAllocs: 2, ...state });
  const { ID } = world.deploy({ TaskGroups: { web } });
  const allocs = [0, 1].map((index) => world.add(index, { DeploymentID: ID })) as [Allocation, Allocation];
  return { world, allocs, updates: () => world.run().deploymentUpdates.map(({ Status }) => Status) };
}

describe('a group whose deployment is healthy', () => {
  it('SC-240: is complete, and so is one without a state in the deployment', () => {
    expect(finished().updates()).toEqual(['successful']);
    const { world, updates } = finished();
    world.deployment!.TaskGroups = {};
    expect(updates()).toEqual(['successful']);
  });

  it.each([
    [
      'is updated in place',
      ({ world }: ReturnType<typeof finished>) => {
        world.olderIs = 'in-place';
        world.allocs[1]!.Job = { ...world.job, Version: world.job.Version - 1 };
      },
    ],
    [
      'is replaced',
      ({ world }: ReturnType<typeof finished>) => {
        world.allocs[1]!.Job = { ...world.job, Version: world.job.Version - 1 };
      },
    ],
    ['is missing', ({ world }: ReturnType<typeof finished>) => void world.allocs.pop()],
    [
      'migrates',
      ({ allocs: [alloc] }: ReturnType<typeof finished>) => {
        alloc.DesiredTransition = { ...NO_TRANSITION, Migrate: true };
      },
    ],
    [
      'is rescheduled later',
      ({ world, allocs: [alloc] }: ReturnType<typeof finished>) => {
        Object.assign(alloc, { DeploymentID: '', ClientStatus: 'failed', ModifyTime: world.nowNs });
      },
    ],
  ])('SC-240: is not complete while an allocation %s', (_, change) => {
    const made = finished();
    change(made);
    expect(made.updates()).toEqual([]);
  });

  it('SC-202, SC-240: is not complete while the agent of a lost allocation has not stopped it', () => {
    const Disconnect = {
      LostAfter: 0,
      StopOnClientAfter: NS_PER_MINUTE,
      Replace: true,
      Reconcile: 'best_score' as const,
    };
    const { world, updates } = finished({}, { Disconnect });
    expect(updates()).toEqual(['successful']);
    world.taint(world.add(2), { Status: 'down' });
    expect(updates()).toEqual([]);
  });

  it.each([
    ['as many as it wants', { DesiredCanaries: 2, Promoted: true }, ['successful']],
    ['fewer than the canaries that it wants', { DesiredCanaries: 3, Promoted: true }, []],
    ['not promoted', { DesiredCanaries: 2, Promoted: false }, []],
    ['fewer than it wants', { HealthyAllocs: 1 }, []],
  ])('SC-240: healthy allocations: %s', (_, state, expected) => {
    expect(finished(state).updates()).toEqual(expected);
  });
});
