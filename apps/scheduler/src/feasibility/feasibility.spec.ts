import type { Allocation, Constraint, Job, Node, Task, TaskGroup } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { asks, gpus, rule } from '../device.fixture.js';
import { Feasibility, REJECTED_CLASS } from './feasibility.js';
import { VolumeFeasibility } from './volume-feasibility.js';

const RACK_1 = rule('${meta.rack}', '=', '1');
const RACK_2 = rule('${meta.rack}', '=', '2');
const UNIQUE = rule('${node.unique.name}', '=', 'good');

const groupOf = (over: Partial<TaskGroup> = {}, task: Partial<Task> = {}): TaskGroup =>
  fixtures.aGroup({ Tasks: [fixtures.aTask(task)], ...over });
const jobOf = (group: TaskGroup, over: Partial<Job> = {}): Job => fixtures.aJob({ TaskGroups: [group], ...over });
const nodeOf = (rack: string, over: Partial<Node> = {}): Node => fixtures.aNode({ Meta: { rack }, ...over });

/** The feasibility for a job whose allocations are on every node, and use every property so often. */
function feasible(job: Job, on: readonly Allocation[] = [], used = 0, isSystem = false) {
  const { tables } = fixtures.aMachine();
  const allocs = { proposed: () => on, countByProperty: () => used };
  const feasibility = new Feasibility(job, allocs, new VolumeFeasibility(job, tables, allocs), isSystem);
  const group = job.TaskGroups[0]!;
  return {
    feasibility,
    group,
    whyNot: (node: Node, name = group.Name) => feasibility.whyNot(node, { ...group, Name: name }, 'web.web[0]'),
  };
}

describe('the reason why a node is not feasible (SC-45)', () => {
  const withDevices = (...names: string[]) =>
    groupOf({}, { Resources: { ...fixtures.aTask().Resources, Devices: names.map((Name) => asks({ Name })) } });

  it.each<[string, Job, Node, string | undefined]>([
    ['none', jobOf(groupOf()), nodeOf('1'), undefined],
    [
      'SC-48: the first unmet constraint',
      jobOf(groupOf({ Constraints: [RACK_1, RACK_2, UNIQUE] })),
      nodeOf('1'),
      '${meta.rack} = 2',
    ],
    [
      'constraints of the job come before those of the group',
      jobOf(groupOf({ Constraints: [RACK_1] }), { Constraints: [RACK_2] }),
      nodeOf('3'),
      '${meta.rack} = 2',
    ],
    [
      'drivers come before constraints of the group',
      jobOf(groupOf({ Constraints: [RACK_1] }, { Driver: 'java' })),
      nodeOf('2'),
      'missing drivers',
    ],
    [
      'constraints of the group come before those of its tasks',
      jobOf(groupOf({ Constraints: [RACK_1] }, { Constraints: [RACK_2] })),
      nodeOf('3'),
      '${meta.rack} = 1',
    ],
    ['constraints of a task', jobOf(groupOf({}, { Constraints: [RACK_2] })), nodeOf('1'), '${meta.rack} = 2'],
    ['devices', jobOf(withDevices('gpu')), nodeOf('1'), 'missing devices'],
  ])('%s', (_, job, node, reason) => {
    expect(feasible(job).whyNot(node)).toBe(reason);
  });

  it('a group that the job does not have', () => {
    expect(feasible(jobOf(groupOf())).whyNot(nodeOf('1'), 'other')).toBe('missing task group');
  });

  it('SC-81, SC-82: the network comes after devices, and volumes after the network', () => {
    const Networks = [{ Mode: 'bridge' }] as TaskGroup['Networks'];
    const Volumes = { data: fixtures.aVolumeRequest({ Type: 'host' }) };
    const { whyNot } = feasible(jobOf({ ...withDevices('gpu'), Networks, Volumes }));
    const resources = fixtures.aNode().NodeResources;
    const withGpu = { ...resources, Devices: [gpus(['a'])] };
    const bridged = { ...withGpu, Networks: [{ Mode: 'bridge', IP: '' }] } as Node['NodeResources'];
    const one = (NodeResources: Node['NodeResources'], ComputedClass: string): string | undefined =>
      whyNot(nodeOf('1', { NodeResources, ComputedClass }));
    expect([one(resources, 'v1:a'), one(withGpu, 'v1:b'), one(bridged, 'v1:c')]).toEqual([
      'missing devices',
      'missing network',
      'missing compatible host volumes',
    ]);
  });
});

describe('classes of nodes', () => {
  it.each([
    ['the job', jobOf(groupOf(), { Constraints: [RACK_1] })],
    ['the group', jobOf(groupOf({ Constraints: [RACK_1] }))],
  ])('SC-53: a class that failed once by %s is not looked at again, and one that passed neither', (_, job) => {
    const { whyNot, feasibility, group } = feasible(job);
    const bad = nodeOf('2', { ComputedClass: 'v1:bad' });
    const good = nodeOf('1', { ComputedClass: 'v1:good' });
    expect(feasibility.isRejectedClass(bad, group)).toBe(false);
    expect([whyNot(bad), whyNot(good)]).toEqual(['${meta.rack} = 1', undefined]);
    expect([whyNot({ ...bad, Meta: { rack: '1' } }), whyNot({ ...good, Meta: { rack: '2' } })]).toEqual([
      REJECTED_CLASS,
      undefined,
    ]);
    expect([feasibility.isRejectedClass(bad, group), feasibility.isRejectedClass(good, group)]).toEqual([true, false]);
  });

  it.each<[string, Job]>([
    ['a constraint of the job', jobOf(groupOf(), { Constraints: [rule('${node.class}', '=', ''), UNIQUE] })],
    ['a constraint of the group', jobOf(groupOf({ Constraints: [UNIQUE] }))],
    ['a constraint of a task', jobOf(groupOf({}, { Constraints: [UNIQUE] }))],
    ['the right side of a constraint', jobOf(groupOf({ Constraints: [rule('good', '=', '${node.unique.name}')] }))],
  ])('SC-51, SC-54: nothing is known of a class that escapes by %s', (_, job) => {
    const { whyNot, feasibility, group } = feasible(job);
    const bad = nodeOf('1', { Name: 'bad' });
    expect(whyNot(bad)).toMatch(/ = /);
    expect([whyNot(bad), whyNot({ ...bad, Name: 'good' })]).toEqual([whyNot(bad), undefined]);
    expect([feasibility.isRejectedClass(bad, group), feasibility.eligibility.escaped]).toEqual([false, true]);
  });

  it('SC-345: a missing driver fails the class, an unhealthy one only its node', () => {
    const { whyNot } = feasible(jobOf(groupOf({}, { Driver: 'docker' })));
    const driver = { ...fixtures.aNode().Drivers['mock_driver']! };
    const node = (docker: Partial<typeof driver> | undefined, ComputedClass: string, attribute?: string): Node =>
      nodeOf('1', {
        ComputedClass,
        Drivers: docker ? { docker: { ...driver, ...docker } } : {},
        Attributes: attribute === undefined ? {} : { 'driver.docker': attribute },
      });
    expect([
      whyNot(node({ Healthy: false }, 'v1:a')),
      whyNot(node({ Detected: false }, 'v1:a')),
      whyNot(node({ Healthy: false }, 'v1:a', '1')),
      whyNot(node({}, 'v1:a')),
      whyNot(node(undefined, 'v1:a', 'true')),
      whyNot(node(undefined, 'v1:a', 'no')),
    ]).toEqual(['missing drivers', 'missing drivers', 'missing drivers', undefined, undefined, 'missing drivers']);
    expect([whyNot(node(undefined, 'v1:b')), whyNot(node({}, 'v1:b'))]).toEqual(['missing drivers', REJECTED_CLASS]);
    expect([whyNot(node(undefined, 'v1:c', 'yes')), whyNot(node({}, 'v1:c'))]).toEqual([
      'missing drivers',
      REJECTED_CLASS,
    ]);
  });

  it('SC-47: all drivers of all tasks are needed', () => {
    const Tasks = ['mock_driver', 'java'].map((Driver) => fixtures.aTask({ Name: Driver, Driver }));
    expect(feasible(jobOf(groupOf({ Tasks }))).whyNot(nodeOf('1'))).toBe('missing drivers');
  });

  it('SC-345: devices of which none match fail the class, too few healthy ones only their node', () => {
    const Resources = { ...fixtures.aTask().Resources, Devices: [asks({ Count: 2 })] };
    const { whyNot } = feasible(jobOf(groupOf({}, { Resources })));
    const node = (Devices: Node['NodeResources']['Devices'], ComputedClass: string): Node =>
      nodeOf('1', { ComputedClass, NodeResources: { ...fixtures.aNode().NodeResources, Devices } });
    expect([whyNot(node([gpus(['a', 'b!'])], 'v1:a')), whyNot(node([gpus(['a', 'b'])], 'v1:a'))]).toEqual([
      'missing devices',
      undefined,
    ]);
    const fpga = gpus(['a', 'b'], { Type: 'fpga' });
    for (const [ComputedClass, Devices] of [
      ['v1:b', null],
      ['v1:c', [fpga]],
    ] as const)
      expect([
        whyNot(node(Devices && [...Devices], ComputedClass)),
        whyNot(node([gpus(['a', 'b'])], ComputedClass)),
      ]).toEqual(['missing devices', REJECTED_CLASS]);
    expect(whyNot(node([fpga, gpus(['a', 'b'])], 'v1:d'))).toBeUndefined();
  });
});

describe('distinct hosts (SC-60, SC-61)', () => {
  const distinct = (RTarget = ''): Constraint => rule('', 'distinct_hosts', RTarget);
  const own = fixtures.anAlloc();
  const beside = fixtures.anAlloc({ TaskGroup: 'beside' });
  const ofTeam = fixtures.anAlloc({ Namespace: 'team' });
  const other = fixtures.anAlloc({ JobID: 'other' });

  it.each<[string, Job, Allocation[], boolean]>([
    ['the job: an allocation of the group', jobOf(groupOf(), { Constraints: [distinct()] }), [own], true],
    ['the job: an allocation of another group', jobOf(groupOf(), { Constraints: [distinct()] }), [beside], true],
    ['the job: one of another namespace', jobOf(groupOf(), { Constraints: [distinct()] }), [ofTeam], false],
    ['the job: one of another job', jobOf(groupOf(), { Constraints: [distinct()] }), [other], false],
    ['the job: one of several', jobOf(groupOf(), { Constraints: [distinct()] }), [other, own], true],
    ['the group: an allocation of the group', jobOf(groupOf({ Constraints: [distinct()] })), [own], true],
    ['the group: one of another group', jobOf(groupOf({ Constraints: [distinct()] })), [beside], false],
    ['no constraint', jobOf(groupOf()), [own], false],
    ['turned on', jobOf(groupOf(), { Constraints: [distinct('true')] }), [own], true],
    ['turned off', jobOf(groupOf(), { Constraints: [distinct('false')] }), [own], false],
    ['one that is off and one that is on', jobOf(groupOf(), { Constraints: [distinct('0'), distinct()] }), [own], true],
    ['another constraint', jobOf(groupOf(), { Constraints: [RACK_1] }), [own], false],
  ])('%s', (_, job, on, taken) => {
    expect(feasible(job, on).whyNot(nodeOf('1'))).toBe(taken ? 'distinct_hosts' : undefined);
    expect(feasible(job, on, 0, true).whyNot(nodeOf('1'))).toBeUndefined();
  });
});

describe('distinct property (SC-62)', () => {
  const distinct = (RTarget: string): Constraint => rule('${meta.rack}', 'distinct_property', RTarget);
  const used = (times: number) => `distinct_property: \${meta.rack}=1 used by ${times} allocs`;

  it.each([
    ['unused', '', 0, undefined],
    ['used once', '', 1, used(1)],
    ['used once of two', '2', 1, undefined],
    ['used twice of two', '2', 2, used(2)],
    ['used more often than allowed', '2', 3, used(3)],
  ])('of job and group: %s', (_, RTarget, times, reason) => {
    for (const job of [
      jobOf(groupOf(), { Constraints: [distinct(RTarget)] }),
      jobOf(groupOf({ Constraints: [distinct(RTarget)] })),
    ]) {
      const { whyNot, feasibility, group } = feasible(job, [], times);
      expect(whyNot(nodeOf('1'))).toBe(reason);
      expect(feasibility.dependsOnOtherNodes(group)).toBe(true);
    }
  });

  it('a node without the property, which is looked at for all of them', () => {
    const Constraints = [RACK_1, distinct('5'), rule('${meta.zone}', 'distinct_property', '')];
    expect(feasible(jobOf(groupOf({ Constraints })), [], 1).whyNot(nodeOf('1'))).toBe(
      'missing property "${meta.zone}"',
    );
  });

  it('other constraints do not depend on other nodes, sticky volumes do', () => {
    const plain = feasible(jobOf(groupOf({ Constraints: [RACK_1] }), { Constraints: [RACK_2] }));
    expect(plain.feasibility.dependsOnOtherNodes(plain.group)).toBe(false);
    expect(plain.feasibility.dependsOnOtherNodes({ ...plain.group, Name: 'other' })).toBe(false);
    const both = feasible(jobOf(groupOf({ Constraints: [distinct('')] }), { Constraints: [RACK_2] }));
    expect(both.feasibility.dependsOnOtherNodes(both.group)).toBe(true);
    const Volumes = { data: fixtures.aVolumeRequest({ Type: 'host', Sticky: true }) };
    const sticky = feasible(jobOf(groupOf({ Volumes })));
    expect(sticky.feasibility.dependsOnOtherNodes(sticky.group)).toBe(true);
  });
});

describe('networks (SC-66, SC-81, SC-82)', () => {
  type Networks = NonNullable<TaskGroup['Networks']>;
  const port = (Label: string, HostNetwork: string) => ({
    Label,
    Value: 0,
    To: 0,
    HostNetwork,
    IgnoreCollision: false,
  });
  const asking = (over: Partial<Networks[number]>): Networks =>
    [{ Mode: '', ReservedPorts: null, DynamicPorts: null, ...over }] as Networks;
  const offering = (over: Partial<Node['NodeResources']>, node: Partial<Node> = {}): Node =>
    nodeOf('1', { NodeResources: { ...fixtures.aNode().NodeResources, ...over }, ...node });
  const offered = (...Modes: string[]) => Modes.map((Mode) => ({ Mode, IP: '' })) as Node['NodeResources']['Networks'];
  const lan = { ...fixtures.aNode().NodeResources.NodeNetworks![0]!, Mode: 'host' };
  const reachable = {
    NodeNetworks: [
      { ...lan, Addresses: null },
      { ...lan, Addresses: [{ ...lan.Addresses![0]!, Alias: 'lan' }] },
    ],
  };

  it.each<[string, Networks | null, Node, string | undefined]>([
    ['host, which is the default', asking({}), offering({}), undefined],
    ['host without networks', null, offering({ NodeNetworks: null }), 'missing network'],
    ['host, offered without a mode', null, offering({ NodeNetworks: null, Networks: offered('') }), undefined],
    ['none', asking({ Mode: 'none' }), offering({ NodeNetworks: null }), undefined],
    ['another mode', asking({ Mode: 'bridge' }), offering({ Networks: offered('host') }), 'missing network'],
    ['one of two modes', asking({ Mode: 'bridge' }), offering({ Networks: offered('host', 'bridge') }), undefined],
    [
      'a mode whose reason is known',
      asking({ Mode: 'bridge' }),
      offering({}, { Attributes: { 'network.bridge.missing': 'no plugin', 'driver.mock_driver': '1' } }),
      'missing network: no plugin',
    ],
    ['a host network', asking({ DynamicPorts: [port('a', 'lan')] }), offering(reachable), undefined],
    [
      'a host network that the node names',
      asking({ ReservedPorts: [port('a', '${meta.net}')] }),
      offering(reachable, { Meta: { net: 'lan' } }),
      undefined,
    ],
    [
      'a missing host network of the second port',
      asking({ ReservedPorts: [port('a', 'lan')], DynamicPorts: [port('b', 'wan')] }),
      offering(reachable),
      'missing host network "wan" for port "b"',
    ],
    [
      'a host network that nothing names',
      asking({ ReservedPorts: [port('a', '${meta.net}')] }),
      offering(reachable),
      'invalid host network "${meta.net}" template for port "a"',
    ],
    ['no host network named', asking({ DynamicPorts: [port('a', '')] }), offering(reachable), undefined],
  ])('%s', (_, Networks, node, reason) => {
    expect(feasible(jobOf(groupOf({ Networks }))).whyNot(node)).toBe(reason);
  });
});
