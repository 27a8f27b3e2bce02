import {
  computedClass,
  defaultSchedulerConfiguration,
  type Allocation,
  type Job,
  type Node,
  type TaskGroup,
  type VolumeRequest,
} from '@waybill/model';
import { fixtures } from '@waybill/state';
import { beforeEach, describe, expect, it } from 'vitest';
import { ClassEligibility } from './feasibility/class-eligibility.js';
import { placedBy, SchedulingFixture, stoppedBy } from './scheduling.fixture.js';

/** Which machines are looked at, what keeps one out, what fits, and what the new allocation says of it. */

let world: SchedulingFixture;
beforeEach(() => {
  world = new SchedulingFixture();
});

const jobOf = (group: Partial<TaskGroup>, over: Partial<Job> = {}): Job =>
  fixtures.aJob({ TaskGroups: [fixtures.aGroup(group, over.Type)], ...over });
const asking = (resources: Partial<ReturnType<typeof fixtures.aTask>['Resources']>, over: Partial<TaskGroup> = {}) => {
  const task = fixtures.aTask();
  return jobOf({ Tasks: [{ ...task, Resources: { ...task.Resources, ...resources } }], ...over });
};
const port = (Label: string, HostNetwork = 'default', Value = 0) => ({
  Label,
  Value,
  To: 0,
  HostNetwork,
  IgnoreCollision: false,
});
const resourcesOf = (over: Partial<Node['NodeResources']>): Partial<Node> => ({
  NodeResources: { ...fixtures.aNode().NodeResources, ...over },
});
const cpu = (CpuShares: number, cores: number[] | null = null): Partial<Node['NodeResources']> => ({
  Cpu: { CpuShares, TotalCpuCores: cores?.length ?? 4, ReservableCpuCores: cores },
});
/** Why the one group could not be placed. */
const whyNot = (job: Job) => {
  world.register(job);
  return world.run().failedGroups['web'];
};
const nodesOf = (allocs: readonly Allocation[]): string[] => allocs.map((alloc) => alloc.NodeID);

describe('machines that are looked at', () => {
  it('SC-1: ready, not draining, eligible', () => {
    world.makeIneligible(world.addNode());
    world.addNode({ Status: 'initializing' });
    const spec = { Deadline: 0, IgnoreSystemJobs: false };
    world.addNode({ DrainStrategy: { ...spec, StartedAt: null, ForceDeadline: null } });
    const ready = world.addNode();
    world.register(jobOf({ Count: 4 }));
    expect(new Set(nodesOf(placedBy(world.run())))).toEqual(new Set([ready.ID]));
  });

  it('SC-39: those of the job’s pool; the pool `all` is every pool', () => {
    const inDefault = world.addNode();
    const inGpu = world.addNode({ NodePool: 'gpu' });
    world.register(jobOf({ Count: 2 }));
    expect(new Set(nodesOf(placedBy(world.run())))).toEqual(new Set([inDefault.ID]));
    world.register(jobOf({ Count: 2 }, { ID: 'everywhere', NodePool: 'all', Type: 'system' }));
    world.run({ JobID: 'everywhere', Type: 'system' });
    const placed = world.allocs().filter((alloc) => alloc.JobID === 'everywhere');
    expect(new Set(nodesOf(placed))).toEqual(new Set([inDefault.ID, inGpu.ID]));
  });

  it('SC-43: each placement goes on where the one before stopped', () => {
    // Twenty equal machines, three looked at for each placement: without the ring all would go to the same few.
    for (let i = 0; i < 20; i++) world.addNode(resourcesOf(cpu(250)));
    world.register(jobOf({ Count: 20 }, { Type: 'batch' }));
    const placed = placedBy(world.run({ Type: 'batch' }));
    expect(placed).toHaveLength(20);
    expect(new Set(nodesOf(placed)).size).toBeGreaterThanOrEqual(10);
  });

  describe('an allocation with a disk that is kept goes back to its machine', () => {
    const sticky = (over: Partial<Job> = {}, config = '1h') =>
      jobOf(
        {
          EphemeralDisk: { Sticky: true, SizeMB: 300, Migrate: false },
          Tasks: [fixtures.aTask({ Config: { run_for: config } })],
        },
        over,
      );
    const placedFirst = (over: Partial<Job> = {}): Allocation => {
      for (let i = 0; i < 5; i++) world.addNode();
      world.register(sticky(over));
      world.run();
      return world.allocs()[0]!;
    };

    it.each(['2h', '3h', '4h', '5h'])('SC-44: replaced in an update (%s)', (config) => {
      const before = placedFirst();
      world.register(sticky({}, config));
      expect(nodesOf(placedBy(world.run()))).toEqual([before.NodeID]);
    });

    it('SC-44: not when that machine is not ready', () => {
      const before = placedFirst();
      world.makeIneligible(world.state.tables.nodes.get(before.NodeID)!);
      world.register(sticky({}, '2h'));
      const [placed] = placedBy(world.run());
      expect(placed?.PreviousAllocation).toBe(before.ID);
      expect(placed?.NodeID).not.toBe(before.NodeID);
    });

    it.each([{ Datacenter: 'dc2' }, { NodePool: 'others' }])(
      'SC-37, SC-44: not when that machine is now in %j',
      (is) => {
        const before = placedFirst({ Datacenters: ['dc1'] });
        const Node = { ...world.state.tables.nodes.get(before.NodeID)!, ...is };
        fixtures.apply(world.state, 'NodeRegister', { Node, CreateNodePool: true });
        world.register(sticky({ Datacenters: ['dc1'] }, '2h'));
        const placed = placedBy(world.run());
        expect(placed).toHaveLength(1);
        expect(nodesOf(placed)).not.toEqual([before.NodeID]);
      },
    );

    it('SC-44, SC-333: not when the job has moved to other datacenters', () => {
      const before = placedFirst();
      const other = world.addNode({ Datacenter: 'dc2' });
      world.register(sticky({ Datacenters: ['dc2'] }));
      expect(nodesOf(placedBy(world.run()))).toEqual([other.ID]);
      expect(other.ID).not.toBe(before.NodeID);
    });
  });
});

describe('classes', () => {
  it('SC-49: filtered machines are counted by the class their operator gave them, if any', () => {
    world.addNode({ NodeClass: 'large' });
    world.addNode({ NodeClass: 'large' });
    world.addNode();
    const never = [{ LTarget: '${attr.nothing}', RTarget: 'x', Operand: '=' }];
    expect(whyNot(jobOf({ Constraints: never }))).toMatchObject({ NodesFiltered: 3, ClassFiltered: { large: 2 } });
  });

  it('SC-50: made of what is the same for many, not of what makes a machine that machine', () => {
    const base = fixtures.aNode();
    const classOf = (over: Partial<Node>): string => computedClass({ ...base, ...over });
    expect(classOf({})).toMatch(/^v1:\d+$/);
    const device = { Vendor: 'nvidia', Type: 'gpu', Name: 'a100', Instances: [], Attributes: {} };
    for (const same of [
      { ID: fixtures.uuid(9), Name: 'other', Status: 'down' as const, Drivers: {} },
      { Attributes: { ...base.Attributes, 'unique.hostname': 'h' }, Meta: { 'unique.rack': '7' } },
      { HostVolumes: { data: { Name: 'data', Path: '/data', ReadOnly: false, ID: '' } } },
      resourcesOf(cpu(9_999)),
    ])
      expect(classOf(same as Partial<Node>)).toBe(classOf({}));
    for (const other of [
      { Datacenter: 'dc2' },
      { NodeClass: 'large' },
      { NodePool: 'gpu' },
      { Attributes: { ...base.Attributes, 'os.name': 'debian' } },
      { Meta: { rack: '7' } },
      resourcesOf({ Devices: [device] }),
    ])
      expect(classOf(other)).not.toBe(classOf({}));
  });

  it('SC-52: a group with a CSI volume escapes its class', () => {
    world.addNode();
    const request: VolumeRequest = {
      Name: 'data',
      Type: 'csi',
      Source: 'vol',
      ReadOnly: false,
      Sticky: false,
      AccessMode: 'single-node-writer',
      AttachmentMode: 'file-system',
      MountOptions: null,
      PerAlloc: false,
    };
    world.register(jobOf({ Volumes: { data: request } }));
    expect(world.run().blocked).toMatchObject([{ escaped: true, classEligibility: {} }]);
  });

  it('SC-55: what the job and all its groups together say of a class', () => {
    const classes = new ClassEligibility(false, new Set());
    classes.setJob('never seen by a group', true);
    classes.setJob('not for the job', false);
    classes.setGroup('a', 'not for the job', true);
    for (const name of ['for one of two', 'for none']) classes.setJob(name, true);
    classes.setGroup('a', 'for one of two', false);
    classes.setGroup('b', 'for one of two', true);
    classes.setGroup('a', 'for none', false);
    classes.setGroup('b', 'for none', false);
    expect(classes.classes()).toEqual({
      'never seen by a group': true,
      'not for the job': false,
      'for one of two': true,
      'for none': false,
    });
  });
});

describe('what keeps a machine out', () => {
  const hostVolume = (over: Partial<VolumeRequest>): Job =>
    jobOf({
      Volumes: {
        data: {
          Name: 'data',
          Type: 'host',
          Source: 'data',
          ReadOnly: false,
          Sticky: false,
          AccessMode: '',
          AttachmentMode: '',
          MountOptions: null,
          PerAlloc: false,
          ...over,
        },
      },
    });
  const offering = (ReadOnly: boolean) =>
    world.addNode({ HostVolumes: { data: { Name: 'data', Path: '/data', ReadOnly, ID: '' } } as Node['HostVolumes'] });
  const MISSING = { ConstraintFiltered: { 'missing compatible host volumes': 1 } };

  it.each([
    ['SC-68: no volume of that name', false, { Source: 'other' }, MISSING],
    ['SC-68: a volume of that name', false, {}, undefined],
    ['SC-69: writing to one that is read only', true, {}, MISSING],
    ['SC-69: reading one that is read only', true, { ReadOnly: true }, undefined],
    ['SC-69: a static one cannot be sticky', false, { Sticky: true }, MISSING],
  ])('%s', (_, readOnly, request, expected) => {
    offering(readOnly);
    const failed = whyNot(hostVolume(request));
    if (expected) expect(failed).toMatchObject(expected);
    else expect(failed).toBeUndefined();
  });

  it.each([
    ['SC-81: a mode that no network of the machine has', { Mode: 'bridge' }, 'missing network'],
    ['NW-9: a mode that the machine says it lacks', { Mode: 'cni/own' }, 'missing network: there is no file for it'],
    ['SC-81: no network at all is always there', { Mode: 'none' }, undefined],
    [
      'SC-82: a host network that no address is called',
      { DynamicPorts: [port('http', 'public')] },
      'missing host network "public" for port "http"',
    ],
    ['SC-82: the default one', { DynamicPorts: [port('http')] }, undefined],
    [
      'SC-66: a host network that the machine’s attributes name',
      { DynamicPorts: [port('http', '${meta.net}')] },
      undefined,
    ],
    [
      'SC-66: a host network that nothing names',
      { DynamicPorts: [port('http', '${meta.none}')] },
      'invalid host network "${meta.none}" template for port "http"',
    ],
  ])('%s', (_, ask, reason) => {
    const Attributes = { ...fixtures.aNode().Attributes, 'network.cni/own.missing': 'there is no file for it' };
    world.addNode({ Meta: { net: 'default' }, Attributes });
    const failed = whyNot(jobOf({ Networks: [fixtures.aNetwork(ask)] }));
    if (reason) expect(failed).toMatchObject({ ConstraintFiltered: { [reason]: 1 } });
    else expect(failed).toBeUndefined();
  });

  it('SC-81: a group without a network needs a host network all the same', () => {
    world.addNode(resourcesOf({ NodeNetworks: null, Networks: null }));
    expect(whyNot(jobOf({}))).toMatchObject({ ConstraintFiltered: { 'missing network': 1 } });
  });
});

describe('what fits', () => {
  it('SC-97: the stored ones, without what the plan stops, with what it places', () => {
    // Room for two. Both are replaced in one plan, which needs the room of what it stops.
    world.addNode(resourcesOf(cpu(200)));
    const both = (config: string) =>
      jobOf({ Count: 2, Update: null, Tasks: [fixtures.aTask({ Config: { run_for: config } })] });
    world.register(both('1h'));
    expect(placedBy(world.run())).toHaveLength(2);
    world.register(both('2h'));
    const attempt = world.run();
    expect([stoppedBy(attempt).length, placedBy(attempt).length, attempt.failedGroups]).toEqual([2, 2, {}]);
  });

  it('SC-99, SC-103: what is reserved is not there; the dimension that is missing is named', () => {
    const reserved = (cpuShares: number, memory: number, disk: number): Partial<Node> => ({
      ReservedResources: {
        Cpu: { CpuShares: cpuShares, ReservedCpuCores: null },
        Memory: { MemoryMB: memory },
        Disk: { DiskMB: disk },
        Networks: { ReservedHostPorts: '' },
      },
    });
    for (const [over, dimension] of [
      [reserved(3_950, 0, 0), 'cpu'],
      [reserved(0, 8_150, 0), 'memory'],
      [reserved(0, 0, 102_200), 'disk'],
      [reserved(3_950, 8_150, 102_200), 'cpu'],
    ] as const) {
      world = new SchedulingFixture();
      world.addNode(over);
      expect(whyNot(jobOf({}))).toMatchObject({ NodesExhausted: 1, DimensionExhausted: { [dimension]: 1 } });
    }
  });

  it('SC-103: a machine may limit how many it takes', () => {
    world.addNode({ NodeMaxAllocs: 2 });
    expect(whyNot(jobOf({ Count: 3 }))).toMatchObject({ DimensionExhausted: { 'max allocation exceeded': 1 } });
    expect(world.live()).toHaveLength(2);
  });

  it('SC-102: cores of its own: the lowest free ones, with their MHz; else the machine has not enough `cores`', () => {
    world.addNode(resourcesOf(cpu(4_000, [0, 1, 2, 3])));
    const failed = whyNot(asking({ Cores: 3, CPU: 0 }, { Count: 2 }));
    const [placed] = world.allocs();
    expect(placed?.AllocatedResources.Tasks['web']?.Cpu).toEqual({ CpuShares: 3_000, ReservedCores: [0, 1, 2] });
    expect(failed).toMatchObject({ DimensionExhausted: { cores: 1 } });
    world.register({ ...asking({ Cores: 1, CPU: 0 }), ID: 'one' });
    world.run({ JobID: 'one' });
    const one = world.allocs().find((alloc) => alloc.JobID === 'one');
    expect(one?.AllocatedResources.Tasks['web']?.Cpu.ReservedCores).toEqual([3]);
  });

  it('SC-253: an update in place keeps the cores, although lower ones are free by then', () => {
    world.addNode(resourcesOf(cpu(4_000, [0, 1, 2, 3])));
    for (const ID of ['first', 'second']) {
      world.register({ ...asking({ Cores: 2, CPU: 0 }), ID });
      world.run({ JobID: ID });
    }
    world.stopJob('first');
    world.run({ JobID: 'first' });
    for (const alloc of world.allocs()) if (alloc.JobID === 'first') world.report(alloc, { ClientStatus: 'complete' });
    const cores = (): unknown[] =>
      world
        .allocs()
        .filter(({ JobID, DesiredStatus }) => JobID === 'second' && DesiredStatus === 'run')
        .map(({ AllocatedResources, Job }) => [AllocatedResources.Tasks['web']?.Cpu, Job?.Priority]);
    expect(cores()).toEqual([[{ CpuShares: 2_000, ReservedCores: [2, 3] }, 50]]);
    world.register({ ...asking({ Cores: 2, CPU: 0 }), ID: 'second', Priority: 60 });
    world.run({ JobID: 'second' });
    expect(cores()).toEqual([[{ CpuShares: 2_000, ReservedCores: [2, 3] }, 60]]);
  });

  it('SC-104: the reservation counts, secrets included, the limit never', () => {
    world.addNode({ ...resourcesOf({ Memory: { MemoryMB: 1_000 } }) });
    expect(whyNot(asking({ MemoryMB: 900, MemoryMaxMB: 5_000 }))).toBeUndefined();
    world.stopJob('web', true);
    world.run({ TriggeredBy: 'job-deregister' });
    expect(whyNot(asking({ MemoryMB: 900, SecretsMB: 101 }))).toMatchObject({ DimensionExhausted: { memory: 1 } });
  });

  it.each([
    [true, 256, 266],
    [true, -1, -1],
    [true, 0, 0],
    [false, 256, 0],
  ])('SC-105: oversubscription %s, memory_max %d: %d', (MemoryOversubscriptionEnabled, MemoryMaxMB, expected) => {
    world.addNode();
    const Config = { ...defaultSchedulerConfiguration(), MemoryOversubscriptionEnabled };
    fixtures.apply(world.state, 'SchedulerConfig', { Config, CAS: false, ModifyIndex: 0 });
    world.register(asking({ MemoryMB: 100, MemoryMaxMB, SecretsMB: 10 }));
    const [placed] = placedBy(world.run());
    expect(placed?.AllocatedResources.Tasks['web']?.Memory).toEqual({ MemoryMB: 110, MemoryMaxMB: expected });
  });

  it('SC-334: the ports of one ask differ, and those of two allocations of one plan too', () => {
    world.addNode(resourcesOf({ MinDynamicPort: 20_000, MaxDynamicPort: 20_007 }));
    world.register(jobOf({ Count: 4, Networks: [fixtures.aNetwork({ DynamicPorts: [port('http'), port('admin')] })] }));
    const given = placedBy(world.run()).flatMap((alloc) => alloc.AllocatedResources.Shared.Ports ?? []);
    expect(new Set(given.map(({ Value }) => Value)).size).toBe(8);
  });
});

describe('which is best', () => {
  it('SC-109: others of the same job and group on the machine count against it', () => {
    world.addNode({ ID: fixtures.uuid(1) });
    world.addNode({ ID: fixtures.uuid(2) });
    world.register(jobOf({ Count: 2 }));
    const placed = placedBy(world.run());
    expect(new Set(nodesOf(placed)).size).toBe(2);
  });

  it('SC-112, SC-113: the highest score wins, and the five best are kept, best first', () => {
    const affinity = [0, 1, 2, 3, 4, 5, 6].map((rack) => ({
      LTarget: '${meta.rack}',
      RTarget: String(rack),
      Operand: '=',
      Weight: 10 * (rack + 1),
    }));
    const nodes = [3, 1, 6, 0, 5, 2, 4].map((rack) => world.addNode({ Meta: { rack: String(rack) } }));
    world.register(jobOf({ Affinities: affinity }));
    const [placed] = placedBy(world.run());
    expect(placed?.NodeID).toBe(nodes[2]!.ID);
    const kept = placed?.Metrics?.ScoreMetaData ?? [];
    expect(kept.map(({ NodeID }) => NodeID)).toEqual([2, 4, 6, 0, 5].map((i) => nodes[i]!.ID));
    expect(kept.map(({ NormScore }) => NormScore)).toEqual(
      kept.map(({ NormScore }) => NormScore).toSorted((a, b) => b - a),
    );
  });

  it('SC-114: a system job is scored by fit and collisions alone', () => {
    world.addNode({ Meta: { rack: '1' } });
    world.register(jobOf({}, { Type: 'system' }));
    const [placed] = placedBy(world.run({ Type: 'system' }));
    const [meta] = placed?.Metrics?.ScoreMetaData ?? [];
    expect(meta?.Scores).toHaveProperty('binpack');
    expect(meta?.Scores).not.toHaveProperty('normalized-score'); // stored as `NormScore`
    expect(meta?.NormScore).toBeCloseTo(meta?.Scores?.['binpack'] ?? -1);
  });

  it('SC-116: one spread, of the job or of the group, has many more nodes looked at', () => {
    for (let n = 0; n < 20; n++) world.addNode();
    const evaluated = (job: Partial<Job>, group: Partial<TaskGroup>): number | undefined => {
      world.register(fixtures.aJob({ TaskGroups: [fixtures.aGroup(group)], ...job }));
      return placedBy(world.attempt())[0]?.Metrics?.NodesEvaluated;
    };
    const Spreads = [{ Attribute: '${node.datacenter}', Weight: 50, SpreadTarget: null }];
    expect(evaluated({}, {})).toBeLessThan(20);
    expect([evaluated({ Spreads }, {}), evaluated({}, { Spreads })]).toEqual([20, 20]);
  });

  it('SC-118: machines that do not fit do not use up the limit: one that does is found behind many', () => {
    for (let i = 0; i < 50; i++) world.addNode(resourcesOf(cpu(50)));
    const last = world.addNode();
    world.register(jobOf({}, { Type: 'batch' }));
    const [placed] = placedBy(world.run({ Type: 'batch' }));
    expect(placed?.NodeID).toBe(last.ID);
  });
});

describe('the new allocation', () => {
  it('SC-146: says what it is for, where it is, and what it got', () => {
    const node = world.addNode();
    world.register(jobOf({}));
    const attempt = world.run();
    const [placed] = placedBy(attempt);
    expect(placed).toMatchObject({
      Name: 'web.web[0]',
      EvalID: attempt.plan.EvalID,
      JobID: 'web',
      TaskGroup: 'web',
      NodeID: node.ID,
      NodeName: node.Name,
      DesiredStatus: 'run',
      ClientStatus: 'pending',
      DeploymentID: attempt.plan.Deployment?.ID,
      Metrics: { NodesEvaluated: 1 },
    });
    expect(placed?.ID).toMatch(/^[0-9a-f-]{36}$/);
    expect(attempt.plan.Deployment?.ID).toBeTruthy();
  });

  it('SC-88: the offer is in the shared ports, and filled into the network with the machine’s address', () => {
    world.addNode();
    const ask = fixtures.aNetwork({ ReservedPorts: [port('ssh', 'default', 2_222)], DynamicPorts: [port('http')] });
    world.register(jobOf({ Networks: [ask] }));
    const shared = placedBy(world.run())[0]!.AllocatedResources.Shared;
    expect(shared.Ports?.map(({ Label, HostIP }) => [Label, HostIP])).toEqual([
      ['ssh', '192.168.0.100'],
      ['http', '192.168.0.100'],
    ]);
    const http = shared.Ports?.find(({ Label }) => Label === 'http')?.Value;
    expect(http).toBeGreaterThanOrEqual(20_000);
    expect(shared.Networks?.[0]).toMatchObject({
      IP: '192.168.0.100',
      ReservedPorts: [{ Label: 'ssh', Value: 2_222 }],
      DynamicPorts: [{ Label: 'http', Value: http }],
    });
  });

  it('SC-89: only the first network of a group counts', () => {
    world.addNode();
    const first = fixtures.aNetwork({ DynamicPorts: [port('http')] });
    const second = fixtures.aNetwork({ DynamicPorts: [port('admin')] });
    world.register(jobOf({ Networks: [first, second] }));
    const { Ports } = placedBy(world.run())[0]!.AllocatedResources.Shared;
    expect(Ports?.map(({ Label }) => Label)).toEqual(['http']);
  });
});
