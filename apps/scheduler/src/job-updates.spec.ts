import { NS_PER_MINUTE, type Job, type TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { placedBy, SchedulingFixture, stoppedBy } from './scheduling.fixture.js';

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const jobOf = (group: Partial<TaskGroup>, over: Partial<Job> = {}): Job =>
  fixtures.aJob({ TaskGroups: [fixtures.aGroup(group, over.Type)], ...over });
const sized = (CPU: number, version = 0) => {
  const task = fixtures.aTask({ Config: { version } });
  return [{ ...task, Resources: { ...task.Resources, CPU } }];
};
const settled = (job: Job): void => {
  world.register(job);
  world.settle({ JobID: job.ID, Type: job.Type });
};

describe('what an update does to running allocations', () => {
  it('SC-119: whether it can be updated in place is asked of its own node alone', () => {
    for (let i = 0; i < 5; i++) world.addNode();
    settled(jobOf({ Count: 1 }));
    const [before] = world.allocs();
    for (const { ID } of world.state.tables.nodes.all())
      if (ID === before!.NodeID) world.makeIneligible(world.state.tables.nodes.get(ID)!);
    world.register(jobOf({ Count: 1 }, { Priority: 60 }));
    expect(placedBy(world.run())).toMatchObject([{ ID: before!.ID, NodeID: before!.NodeID, Job: { Priority: 60 } }]);
  });

  it('SC-144: what replaces something is placed first, in the room that is freed for it', () => {
    world.addNode();
    const Update = { ...fixtures.aGroup().Update!, MaxParallel: 2 };
    settled(jobOf({ Count: 2, Update, Tasks: sized(1_500) }));
    // Two of 2,000 MHz fit in place of the two of 1,500; the third one does not fit, whoever comes first.
    world.register(jobOf({ Count: 3, Update, Tasks: sized(2_000, 1) }));
    const attempt = world.run();
    expect(stoppedBy(attempt).length).toBeGreaterThan(0);
    const replaced = new Set(stoppedBy(attempt).map(({ ID }) => ID));
    expect(placedBy(attempt).every(({ PreviousAllocation }) => replaced.has(PreviousAllocation))).toBe(true);
    expect(attempt.failedGroups['web']).toMatchObject({ DimensionExhausted: { cpu: 1 } });
  });

  it('SC-251: one that has ended is left as it is by a change that replaces nothing', () => {
    world.addNode();
    const policy = { ...fixtures.aGroup({}, 'batch').ReschedulePolicy!, Attempts: 0 };
    settled(jobOf({ Count: 1, ReschedulePolicy: policy }, { Type: 'batch' }));
    const [alloc] = world.allocs();
    world.report(alloc!, { ClientStatus: 'failed' });
    world.register(jobOf({ Count: 1, ReschedulePolicy: policy }, { Type: 'batch', Priority: 60 }));
    const attempt = world.run({ Type: 'batch' });
    expect(attempt.plan.NodeUpdate).toEqual({});
    expect(placedBy(attempt).filter(({ ID }) => ID === alloc!.ID)).toEqual([]);
  });

  it('SC-255: in place all at once, whatever max_parallel says', () => {
    world.addNode();
    const Update = { ...fixtures.aGroup().Update!, MaxParallel: 1 };
    settled(jobOf({ Count: 5, Update }));
    world.register(jobOf({ Count: 5, Update }, { Priority: 60 }));
    const attempt = world.run();
    expect(attempt.annotations.DesiredTGUpdates['web']).toMatchObject({ InPlaceUpdate: 5, DestructiveUpdate: 0 });
    expect(placedBy(attempt)).toHaveLength(5);
  });

  describe.each(['batch', 'sysbatch'])('the time a %s may run', (Type) => {
    const limited = (minutes: number | null, over: Partial<Job> = {}, group: Partial<TaskGroup> = {}): Job =>
      jobOf({ MaxRunDuration: minutes === null ? null : minutes * NS_PER_MINUTE, ...group }, { Type, ...over });
    const unfit = () => {
      for (const node of world.state.tables.nodes.all()) world.addNode({ ...node, Drivers: {}, Attributes: {} });
    };

    it.each([
      [10, 20],
      [null, 20],
      [10, null],
    ])('SC-254: from %s to %s minutes it changes in place, also where nothing new could be placed', (from, to) => {
      world.addNode();
      settled(limited(from));
      const [before] = world.allocs();
      unfit();
      world.register(limited(to));
      expect(placedBy(world.run({ Type }))).toMatchObject([
        { ID: before!.ID, AllocatedResources: before!.AllocatedResources, Job: { Version: 1 } },
      ]);
    });

    it('SC-254: with anything else it is an update like others', () => {
      world.addNode();
      settled(limited(10));
      unfit();
      world.register(limited(20, { Priority: 60 }));
      expect(world.run({ Type }).annotations.DesiredTGUpdates['web']?.InPlaceUpdate).toBe(0);
    });
  });
});
