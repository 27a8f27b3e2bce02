import type { Allocation, Job, Node, NodeDevice, RequestedDevice } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { asks, gpus, likes, rule } from './device.fixture.js';
import { matchesRequest } from './feasibility/device-match.js';
import { placedBy, SchedulingFixture } from './scheduling.fixture.js';

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const withDevices = (Devices: NodeDevice[], over: Partial<Node> = {}): Node =>
  world.addNode({ NodeResources: { ...fixtures.aNode().NodeResources, Devices }, ...over });
const jobOf = (requests: RequestedDevice[], Count = 1, over: Partial<Job> = {}): Job => {
  const task = fixtures.aTask();
  const Tasks = [{ ...task, Resources: { ...task.Resources, Devices: requests } }];
  return fixtures.aJob({ TaskGroups: [fixtures.aGroup({ Count, Tasks }, over.Type)], ...over });
};
const idsOf = (alloc: Allocation | undefined): string[] =>
  (alloc?.AllocatedResources.Tasks['web']?.Devices ?? []).flatMap(({ DeviceIDs }) => DeviceIDs);
const whyNot = (job: Job) => {
  world.register(job);
  return world.attempt({ JobID: job.ID }).failedGroups['web'];
};

describe('which devices a request means', () => {
  it.each([
    ['gpu', true],
    ['nvidia/gpu', true],
    ['nvidia/gpu/V100', true],
    ['fpga', false],
    ['amd/gpu', false],
    ['nvidia/gpu/A100', false],
    ['nvidia', false],
    ['nvidia/gpu/', false],
  ])('SC-91: %s', (Name, matches) => {
    expect(matchesRequest(gpus(['a']), asks({ Name }))).toBe(matches);
  });

  it.each([
    ['${device.model}', '=', 'V100', true],
    ['${device.vendor}', 'is', 'amd', false],
    ['${device.type}', '==', 'gpu', true],
    ['${device.ids}', 'set_contains', 'b', true],
    ['${device.ids}', 'set_contains', 'b,z', false],
    ['${device.ids}', 'set_contains_any', 'b,z', true],
    ['${device.attr.memory}', '>=', '8 GiB', true],
    ['${device.attr.memory}', '<', '16384 MiB', false],
    ['${device.attr.memory}', '<=', '16384 MiB', true],
    ['${device.attr.memory}', '>', '8', false],
    ['${device.attr.memory}', '!=', '8 W', false],
    ['${device.attr.memory}', '!=', '8 GiB', true],
    ['${device.attr.cores}', '=', '640', true],
    ['${device.attr.ecc}', '=', 'true', true],
    ['${device.attr.driver}', 'version', '>= 418.0', true],
    ['${device.attr.driver}', 'regexp', '^41', true],
    ['${device.attr.none}', 'is_set', '', false],
    ['${device.attr.none}', 'is_not_set', '', true],
    ['${device.attr.none}', '!=', 'x', true],
    ['${device.attr.none}', '!=', '${device.attr.neither}', false],
    ['${device.attr.none}', '=', '${device.attr.neither}', false],
    ['${attr.cpu.arch}', '=', 'amd64', false],
  ])('SC-94, SC-95: %s %s %s', (left, operand, right, matches) => {
    expect(matchesRequest(gpus(['a', 'b']), asks({ Constraints: [rule(left, operand, right)] }))).toBe(matches);
  });
});

describe('whether a machine will do', () => {
  it('SC-92: healthy instances of all matching groups count together, for all requests together', () => {
    const other = gpus(['c'], { Name: 'A100' });
    withDevices([gpus(['a', 'b!']), other]);
    expect(whyNot(jobOf([asks(), asks()]))).toBeUndefined();
    expect(whyNot(jobOf([asks({ Count: 3 })]))).toMatchObject({
      NodesFiltered: 1,
      ConstraintFiltered: { 'missing devices': 1 },
    });
    expect(whyNot(jobOf([asks({ Name: 'nvidia/gpu/A100' }), asks({ Name: 'nvidia/gpu/A100' })]))).toMatchObject({
      ConstraintFiltered: { 'missing devices': 1 },
    });
  });

  it('SC-92, SC-93: what two groups have together is feasible, but one group must do for one request', () => {
    withDevices([gpus(['a']), gpus(['b'], { Name: 'A100' })]);
    expect(whyNot(jobOf([asks({ Count: 2 })]))).toMatchObject({
      NodesExhausted: 1,
      DimensionExhausted: { 'devices: no devices match request': 1 },
    });
  });

  it('SC-45, SC-345: no matching group rules the class out, too few healthy instances only the machine', () => {
    withDevices([gpus(['a!'])], { ComputedClass: 'v1:gpu' });
    world.addNode({ ComputedClass: 'v1:plain' });
    world.register(jobOf([asks()]));
    expect(world.attempt().blocked[0]?.classEligibility).toEqual({ 'v1:gpu': true, 'v1:plain': false });
    const good = withDevices([gpus(['a'])], { ComputedClass: 'v1:gpu' });
    expect(placedBy(world.run())).toMatchObject([{ NodeID: good.ID }]);
  });

  it('SC-345: constraints on instances are no fact of the class', () => {
    withDevices([gpus(['a'])], { ComputedClass: 'v1:gpu' });
    const only = asks({ Constraints: [rule('${device.ids}', 'set_contains', 'z')] });
    world.register(jobOf([only]));
    expect(world.attempt().blocked[0]?.classEligibility).toEqual({ 'v1:gpu': true });
  });
});

describe('which instances it gets', () => {
  it('SC-93: free healthy ones of one group, for each request others', () => {
    withDevices([gpus(['a', 'b!', 'c', 'd'])]);
    world.register(jobOf([asks({ Count: 2 }), asks()]));
    const [placed] = placedBy(world.run());
    expect(placed?.AllocatedResources.Tasks['web']?.Devices).toEqual([
      { Vendor: 'nvidia', Type: 'gpu', Name: 'V100', DeviceIDs: ['a', 'c'] },
      { Vendor: 'nvidia', Type: 'gpu', Name: 'V100', DeviceIDs: ['d'] },
    ]);
  });

  it('SC-93: of the group with the highest affinity; how well it is met is a score of its own', () => {
    withDevices([gpus(['a']), gpus(['b'], { Name: 'A100', Vendor: 'other' }), gpus(['c'], { Name: 'A100' })]);
    const Affinities = [likes('${device.model}', 'A100', 50), likes('${device.vendor}', 'nvidia', 25)];
    Affinities.push(likes('${device.type}', 'gpu', -25));
    world.register(jobOf([asks({ Affinities })]));
    const [placed] = placedBy(world.run());
    expect(idsOf(placed)).toEqual(['c']);
    const scores = placed?.Metrics?.ScoreMetaData?.[0];
    expect(scores?.Scores['devices']).toBeCloseTo((50 + 25 - 25) / 100, 9);
    expect(scores?.NormScore).toBeCloseTo((0.5 + (scores?.Scores['binpack'] ?? 0)) / 2, 9);
  });

  it('no device affinity, no device score', () => {
    withDevices([gpus(['a'])]);
    world.register(jobOf([asks()]));
    expect(placedBy(world.run())[0]?.Metrics?.ScoreMetaData?.[0]?.Scores).not.toHaveProperty('devices');
  });

  it('SC-94: only the instances that the request names', () => {
    withDevices([gpus(['a', 'b', 'c'])]);
    world.register(jobOf([asks({ Constraints: [rule('${device.ids}', 'set_contains', 'b,c')] })], 2));
    expect(placedBy(world.run()).map(idsOf)).toEqual([['b'], ['c']]);
  });

  it('SC-93: zero devices is a request that nothing serves', () => {
    withDevices([gpus(['a'])]);
    expect(whyNot(jobOf([asks({ Count: 0 })]))).toMatchObject({
      DimensionExhausted: { 'devices: invalid request of zero devices': 1 },
    });
  });

  it('SC-93: a machine without devices says so', () => {
    world.addNode();
    expect(whyNot(jobOf([asks({ Count: 0 })]))?.ConstraintFiltered).toEqual({ 'missing devices': 1 });
  });

  it('SC-96: an allocation that is told to stop holds its devices until its agent reports the end', () => {
    withDevices([gpus(['a'])]);
    world.register(jobOf([asks()], 1, { ID: 'first' }));
    const [held] = placedBy(world.run({ JobID: 'first' }));
    world.stopJob('first');
    world.run({ JobID: 'first', TriggeredBy: 'job-deregister' });
    world.register(jobOf([asks()], 1, { ID: 'second' }));
    expect(world.attempt({ JobID: 'second' }).failedGroups['web']).toMatchObject({
      DimensionExhausted: { 'devices: no devices match request': 1 },
    });
    world.report(held!, { ClientStatus: 'complete' });
    expect(idsOf(placedBy(world.run({ JobID: 'second' }))[0])).toEqual(['a']);
  });

  it('SC-253: an in-place update keeps the instances it has', () => {
    withDevices([gpus(['a', 'b', 'c'])]);
    world.register(jobOf([asks()], 1, { ID: 'other' }));
    const [other] = placedBy(world.run({ JobID: 'other' }));
    world.register(jobOf([asks()]));
    expect(idsOf(placedBy(world.run())[0])).toEqual(['b']);
    world.report(other!, { ClientStatus: 'complete' });
    world.register(jobOf([asks()], 1, { Priority: 60 }));
    expect(placedBy(world.run())).toMatchObject([{ Job: { Priority: 60 } }]);
    expect(idsOf(world.allocs().find(({ JobID }) => JobID === 'web'))).toEqual(['b']);
  });
});

describe('making room (SC-139)', () => {
  const low = (id: string, priority: number, Count: number, count = 1): Allocation[] => {
    world.register(jobOf([asks({ Count: count })], Count, { ID: id, Priority: priority }));
    return placedBy(world.run({ JobID: id }));
  };
  const high = (Count: number, count: number) => {
    world.register(jobOf([asks({ Count: count })], Count, { ID: 'high', Priority: 100 }));
    return world.run({ JobID: 'high', Priority: 100 });
  };
  const victimsOf = (attempt: ReturnType<typeof high>): string[] =>
    Object.values(attempt.plan.NodePreemptions).flatMap((victims) => victims.map(({ ID }) => ID));

  it('SC-139: four single devices for two who want two each', () => {
    withDevices([gpus(['a', 'b', 'c', 'd'])]);
    const victims = low('low', 5, 4);
    const attempt = high(2, 2);
    expect(placedBy(attempt).map(({ PreemptedAllocations }) => PreemptedAllocations?.length)).toEqual([2, 2]);
    expect(victimsOf(attempt).toSorted()).toEqual(victims.map(({ ID }) => ID).toSorted());
    expect(placedBy(attempt).flatMap(idsOf).toSorted()).toEqual(['a', 'b', 'c', 'd']);
  });

  it('SC-139: the least important go, of one group, and no more of them than needed', () => {
    withDevices([gpus(['a', 'b', 'c'])]);
    const [important] = low('important', 60, 1);
    const [one] = low('one', 10, 1);
    const [two] = low('two', 20, 1);
    expect(victimsOf(high(1, 2)).toSorted()).toEqual([one!.ID, two!.ID].toSorted());
    expect(world.state.tables.allocs.get(important!.ID)?.DesiredStatus).toBe('run');
  });

  it('SC-139: one that holds enough by itself spares the others', () => {
    withDevices([gpus(['a', 'b', 'c'])]);
    low('one', 10, 1);
    const [both] = low('both', 20, 1, 2);
    expect(victimsOf(high(1, 2))).toEqual([both!.ID]);
  });

  it('SC-139: of two groups the one whose victims add up to less', () => {
    withDevices([gpus(['a', 'b']), gpus(['x', 'y'], { Name: 'A100' })]);
    low('dear', 30, 1, 2);
    const cheap = [...low('cheap', 10, 1), ...low('cheaper', 9, 1)];
    expect(victimsOf(high(1, 2)).toSorted()).toEqual(cheap.map(({ ID }) => ID).toSorted());
  });

  it('SC-139: nobody goes where the rest is held by somebody who stays', () => {
    withDevices([gpus(['a', 'b'])]);
    low('peer', 95, 1);
    low('low', 10, 1);
    const attempt = high(1, 2);
    expect(victimsOf(attempt)).toEqual([]);
    expect(attempt.failedGroups['web']).toMatchObject({ NodesExhausted: 1 });
  });

  it('SC-139: nobody goes if one instance is missing all the same', () => {
    withDevices([gpus(['a', 'b'])]);
    low('low', 10, 2);
    expect(victimsOf(high(1, 3))).toEqual([]);
  });

  it('SC-140: whoever goes for its device is gone for CPU and memory too', () => {
    withDevices([gpus(['a'])]);
    const task = fixtures.aTask();
    const sized = (ID: string, Priority: number): Job => {
      const Resources = { ...task.Resources, CPU: 3_000, Devices: [asks()] };
      return fixtures.aJob({ ID, Priority, TaskGroups: [fixtures.aGroup({ Tasks: [{ ...task, Resources }] })] });
    };
    world.register(sized('low', 10));
    const [victim] = placedBy(world.run({ JobID: 'low' }));
    world.register(sized('high', 90));
    const attempt = world.run({ JobID: 'high' });
    expect(victimsOf(attempt)).toEqual([victim!.ID]);
    // 3,000 of 4,000 MHz are used, not 6,000: it is no victim of section 12's CPU rule, whose use would still count.
    const memory = 10 ** (1 - 64 / 8_192);
    expect(placedBy(attempt)[0]?.Metrics?.ScoreMetaData?.[0]?.Scores['binpack']).toBeCloseTo(
      (20 - 10 ** 0.25 - memory) / 18,
      6,
    );
  });
});
