import {
  defaultSchedulerConfiguration,
  type Allocation,
  type Amounts,
  type Job,
  type NetworkResource,
  type Node,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { distance, parallelPenalty, preemptionScore, victimsFor } from './preemption.js';
import { placedBy, SchedulingFixture } from '../scheduling.fixture.js';

const amounts = (cpuMhz: number, memoryMB: number, diskMB: number): Amounts => ({ cpuMhz, memoryMB, diskMB });

describe('arithmetic (22.6)', () => {
  it.each([
    [2048, 512, 4096, 0],
    [1024, 400, 1024, 0.928],
    [8192, 200, 1024, 3.152],
    [2048, 500, 4096, 0.023],
    [1024, 256, 0, 1.225],
  ])('SC-135: %d MHz, %d MB, %d MB disk', (cpu, memory, disk, expected) => {
    expect(distance(amounts(2048, 512, 4096), amounts(cpu, memory, disk))).toBeCloseTo(expected, 3);
  });

  it('SC-136: beyond max_parallel it costs', () => {
    expect([0, 1, 2].map((preempted) => parallelPenalty(1, preempted))).toEqual([0, 50, 100]);
    expect(parallelPenalty(0, 5)).toBe(0);
  });

  it.each([
    [[10], 0.999943],
    [[30, 30], 0.999937],
    [[20, 40, 40], 0.999934],
  ])('SC-141: victims of %j', (priorities, expected) => {
    expect(preemptionScore(priorities)).toBeCloseTo(expected, 6);
  });
});

describe('who has to go', () => {
  const running = (Priority: number, CPU: number, ID = `p${Priority}`) => {
    const task = fixtures.aTask();
    const group = fixtures.aGroup({ Tasks: [{ ...task, Resources: { ...task.Resources, CPU, MemoryMB: 100 } }] });
    return fixtures.anAlloc({ Job: fixtures.aJob({ ID, Priority, TaskGroups: [group] }) });
  };
  const ask = (proposed: ReturnType<typeof running>[], cpu: number, job: Partial<Job> = {}) =>
    victimsFor({
      job: { ID: 'mine', Namespace: 'default', Priority: 50, ...job },
      wanted: amounts(cpu, 0, 0),
      free: amounts(0, 0, 0),
      proposed,
      preemptedOf: () => 0,
    });

  it('of equal ones the first go first', () => {
    const equal = [1, 2, 3].map((n) => running(10, 250, `same${n}`));
    expect(ask(equal, 500)).toEqual(equal.slice(0, 2));
  });

  it('SC-133: a difference of ten, not of nine, and never one of its own', () => {
    expect(ask([running(40, 500)], 500)).toHaveLength(1);
    expect(ask([running(41, 500)], 500)).toBeUndefined();
    expect(ask([running(40, 500, 'mine')], 500)).toBeUndefined();
  });

  it('SC-134: the least important first, of these the closest', () => {
    const [low, fits, high] = [running(10, 100), running(20, 400), running(30, 400)];
    expect(ask([high, fits, low], 500)).toEqual([low, fits]);
  });

  it('SC-137: who turns out not to be needed stays', () => {
    const [small, huge] = [running(10, 100), running(20, 5_000)];
    expect(ask([small, huge], 600)).toEqual([huge]);
  });
});

describe('making room', () => {
  const sized = (ID: string, Priority: number, CPU: number, over: Partial<Job> = {}): Job => {
    const task = fixtures.aTask();
    const Tasks = [{ ...task, Resources: { ...task.Resources, CPU } }];
    return fixtures.aJob({ ID, Priority, TaskGroups: [fixtures.aGroup({ Tasks }, over.Type)], ...over });
  };
  const configured = (enabled: boolean): SchedulingFixture => {
    const world = new SchedulingFixture();
    fixtures.apply(world.state, 'SchedulerConfig', {
      Config: {
        ...defaultSchedulerConfiguration(),
        PreemptionConfig: {
          SystemSchedulerEnabled: enabled,
          SysBatchSchedulerEnabled: enabled,
          BatchSchedulerEnabled: enabled,
          ServiceSchedulerEnabled: enabled,
        },
      },
      CAS: false,
      ModifyIndex: 0,
    });
    world.addNode();
    world.register(sized('low', 20, 3_000));
    world.run({ JobID: 'low' });
    return world;
  };

  it.each(['service', 'batch', 'system'])('SC-108, SC-132, SC-142, SC-286: for a more important %s job', (Type) => {
    const world = configured(true);
    const [victim] = world.allocs();
    world.register(sized('high', 80, 3_000, { Type }));
    const attempt = world.run({ JobID: 'high', Type });
    const [made] = placedBy(attempt);
    expect(made).toMatchObject({ PreemptedAllocations: [victim!.ID] });
    const scores = made?.Metrics?.ScoreMetaData?.[0]?.Scores;
    expect(scores?.['preemption']).toBeCloseTo(preemptionScore([20]), 9);
    expect(scores?.['binpack']).toBeCloseTo(0.5576, 4); // of 6,000 MHz used: the victim is still counted (SC-108)
    expect(attempt.plan.NodePreemptions).toEqual({
      [victim!.NodeID]: [{ ID: victim!.ID, PreemptedByAllocation: made!.ID }],
    });
    expect(attempt.annotations.DesiredTGUpdates['web']?.Preemptions).toBe(1);
    expect(world.state.tables.allocs.get(victim!.ID)).toMatchObject({
      DesiredStatus: 'evict',
      DesiredDescription: `Preempted by alloc ID ${made!.ID}`,
    });
    expect(world.attempt({ JobID: 'high', Type }).isNoop).toBe(true);
  });

  it('SC-132: not where it is switched off', () => {
    const world = configured(false);
    world.register(sized('high', 80, 3_000));
    const attempt = world.attempt({ JobID: 'high' });
    expect([placedBy(attempt), attempt.plan.NodePreemptions]).toEqual([[], {}]);
    expect(attempt.failedGroups['web']).toMatchObject({ NodesExhausted: 1 });
  });

  it('every placement that evicts says of all nodes why they were full, also where that was known', () => {
    const world = new SchedulingFixture();
    for (let i = 0; i < 4; i++) world.addNode({ NodeClass: i < 3 ? 'large' : '' });
    world.register(sized('low', 20, 3_000, { TaskGroups: [{ ...sized('low', 20, 3_000).TaskGroups[0]!, Count: 4 }] }));
    world.run({ JobID: 'low' });
    world.register(
      sized('high', 80, 3_000, { TaskGroups: [{ ...sized('high', 80, 3_000).TaskGroups[0]!, Count: 5 }] }),
    );
    const attempt = world.attempt({ JobID: 'high' });
    expect(placedBy(attempt)).toHaveLength(4);
    const metrics = [...placedBy(attempt).map(({ Metrics }) => Metrics), attempt.failedGroups['web']];
    for (const metric of metrics)
      expect(metric).toMatchObject({
        NodesEvaluated: 4,
        NodesExhausted: 4,
        DimensionExhausted: { cpu: 4 },
        ClassExhausted: { large: 3 },
      });
  });

  it('SC-270, SC-328: the victim is placed again when there is room, without link or tracker', () => {
    const world = configured(true);
    const [victim] = world.allocs();
    world.register(sized('high', 80, 3_000));
    world.run({ JobID: 'high' });
    world.addNode();
    expect(placedBy(world.run({ JobID: 'low', TriggeredBy: 'preemption' }))).toMatchObject([
      { Name: victim!.Name, PreviousAllocation: '', RescheduleTracker: null },
    ]);
  });
});

describe('making room for ports', () => {
  const network = (ports: number[], hostNetwork = 'default', ignoreCollision = false): NetworkResource =>
    fixtures.aNetwork({
      ReservedPorts: ports.map((Value) => ({
        Label: `p${Value}`,
        Value,
        To: 0,
        HostNetwork: hostNetwork,
        IgnoreCollision: ignoreCollision,
      })),
    });
  const serving = (ID: string, Priority: number, given: NetworkResource): Job =>
    fixtures.aJob({ ID, Priority, TaskGroups: [fixtures.aGroup({ Networks: [given] })] });
  const address = (Alias: string, Address: string, ReservedPorts = '') => ({
    Family: 'ipv4',
    Alias,
    Address,
    ReservedPorts,
    Gateway: '',
  });
  const device = (Device: string, Addresses: ReturnType<typeof address>[] | null) => ({
    Mode: 'host',
    Device,
    MacAddress: '',
    Speed: 1_000,
    Addresses,
  });
  const aWorld = (NodeNetworks: ReturnType<typeof device>[] = [device('eth0', [address('default', '10.0.0.1')])]) => {
    const world = new SchedulingFixture();
    const over: Partial<Node> = { NodeResources: { ...fixtures.aNode().NodeResources, NodeNetworks } };
    world.addNode(over);
    return world;
  };
  const place = (world: SchedulingFixture, job: Job): Allocation => {
    world.register(job);
    const [placed] = placedBy(world.run({ JobID: job.ID }));
    if (!placed) throw new Error(`${job.ID} was not placed`);
    return placed;
  };
  const victimsOf = ({ plan }: ReturnType<SchedulingFixture['run']>): string[] =>
    Object.values(plan.NodePreemptions).flatMap((victims) => victims.map(({ ID }) => ID));
  const whoGoesFor = (world: SchedulingFixture, given: NetworkResource): string[] => {
    world.register(serving('high', 90, given));
    return victimsOf(world.run({ JobID: 'high' }));
  };

  it('SC-138: whoever holds the wanted static ports goes, and nobody else', () => {
    const world = aWorld();
    const [web, , admin] = [
      place(world, serving('web', 20, network([80]))),
      place(world, serving('other', 10, network([443]))),
      place(world, serving('admin', 30, network([8080]))),
    ];
    expect(whoGoesFor(world, network([80, 8080])).toSorted()).toEqual([web.ID, admin.ID].toSorted());
    const made = world.allocs().find(({ JobID }) => JobID === 'high');
    expect(made?.AllocatedResources.Shared.Ports?.map(({ Value }) => Value)).toEqual([80, 8080]);
  });

  it('SC-138: nobody goes if one port is held by somebody who stays, or by the machine itself', () => {
    const held = aWorld();
    place(held, serving('web', 20, network([80])));
    place(held, serving('peer', 85, network([443])));
    expect(whoGoesFor(held, network([80, 443]))).toEqual([]);
    const reserved = aWorld([device('eth0', [address('default', '10.0.0.1', '22')])]);
    place(reserved, serving('web', 20, network([80])));
    expect(whoGoesFor(reserved, network([80, 22]))).toEqual([]);
  });

  it('SC-138: all victims are on one network device', () => {
    const world = aWorld([
      device('eth0', [address('public', '10.0.0.1')]),
      device('eth1', [address('public', '10.1.0.1'), address('private', '10.1.0.2')]),
    ]);
    place(world, serving('low', 20, network([80], 'public'))); // on eth0, the first
    const second = place(world, serving('second', 30, network([80], 'public'))); // on eth1
    const inside = place(world, serving('inside', 10, network([81], 'private')));
    const both = network([80], 'public');
    both.ReservedPorts?.push(...(network([81], 'private').ReservedPorts ?? []));
    // On eth0 there is nobody to evict for the private port: it is eth1 or nothing.
    expect(whoGoesFor(world, both).toSorted()).toEqual([second.ID, inside.ID].toSorted());
  });

  it('SC-138: a network device without addresses has no victims', () => {
    const world = aWorld([device('bridge', null), device('eth0', [address('default', '10.0.0.1')])]);
    const web = place(world, serving('web', 20, network([80])));
    expect(whoGoesFor(world, network([80]))).toEqual([web.ID]);
  });

  it('SC-138: of those who share a port all must be allowed to go', () => {
    const world = aWorld();
    place(world, serving('low', 20, network([80], 'default', true)));
    place(world, serving('peer', 85, network([80], 'default', true)));
    expect(whoGoesFor(world, network([80]))).toEqual([]);
  });

  it('SC-140: whoever goes for a port leaves its CPU and memory to the one that comes', () => {
    const world = aWorld();
    const big = (ID: string, Priority: number): Job => {
      const job = serving(ID, Priority, network([80]));
      for (const task of job.TaskGroups[0]?.Tasks ?? []) task.Resources.CPU = 3_000;
      return job;
    };
    const victim = place(world, big('low', 20));
    world.register(big('high', 90));
    const attempt = world.run({ JobID: 'high' });
    expect(victimsOf(attempt)).toEqual([victim.ID]);
    expect(placedBy(attempt)).toHaveLength(1);
  });
});
