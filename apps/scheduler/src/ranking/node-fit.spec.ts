import { type Allocation, type NetworkResource, type Node, type RequestedDevice } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it, vi } from 'vitest';
import { asks, gpus, likes } from '../device.fixture.js';
import { allocOn, jobAsking, JudgingFixture } from './judging.fixture.js';
import { fit, type Evictions, type Fitted, type Resourced } from './node-fit.js';

const port = (Label: string, Value: number, HostNetwork = 'default') => ({
  Label,
  Value,
  To: 0,
  HostNetwork,
  IgnoreCollision: false,
});
const nodeWith = (resources: Partial<Node['NodeResources']>, over: Partial<Node> = {}): Node => ({
  ...fixtures.aNode(over),
  NodeResources: { ...fixtures.aNode().NodeResources, ...resources },
});
/** An allocation of another job with these ports or devices, of 1,000 MHz, 1,000 MB and 1,000 MB of disk. */
const holding = (node: Node, ports: number[], devices: string[] = []): Allocation => {
  const alloc = allocOn(node, jobAsking(1_000, 1_000, { ID: 'other' }));
  const { Tasks, TaskLifecycles } = alloc.AllocatedResources;
  const Ports = ports.map((Value) => ({ ...port('p', Value), HostIP: '192.168.0.100' }));
  const Devices = devices.map((id) => ({ Vendor: 'nvidia', Type: 'gpu', Name: 'V100', DeviceIDs: [id] }));
  return {
    ...alloc,
    AllocatedResources: {
      Tasks: { web: { ...Tasks['web']!, Devices } },
      TaskLifecycles,
      Shared: { Networks: null, DiskMB: 1_000, Ports },
    },
  };
};

/** How one more allocation, of 100 MHz, 100 MB and 300 MB of disk, fits a node. */
function fitOf(
  node: Node,
  asked: { network?: NetworkResource; devices?: RequestedDevice[]; cores?: number },
  stored: Allocation[] = [],
  evictions?: Partial<Evictions>,
): Fitted {
  const job = jobAsking(100, 100);
  const [group] = job.TaskGroups;
  const task = group!.Tasks[0]!;
  const Resources = { ...task.Resources, Devices: asked.devices ?? null, Cores: asked.cores ?? 0 };
  const Networks = asked.network ? [asked.network] : null;
  const TaskGroups = [{ ...group!, Networks, Tasks: [{ ...task, Resources }] }];
  const { ask, plan } = new JudgingFixture({ ...job, TaskGroups }, [node], stored);
  const none: Evictions = { forPorts: () => undefined, forDevice: () => undefined };
  return fit(node, ask, plan.viewOf(node.ID), () => 0, evictions && { ...none, ...evictions });
}

const fitted = (result: Fitted): Resourced => {
  if ('exhausted' in result) throw new Error(`it does not fit: ${result.exhausted}`);
  return result;
};

describe('the amounts of one more allocation', () => {
  it('add to those of the allocations on the node', () => {
    const node = fixtures.aNode();
    expect(fitted(fitOf(node, {}, [holding(node, [])]))).toMatchObject({
      wanted: { cpuMhz: 100, memoryMB: 100, diskMB: 300 },
      used: { cpuMhz: 1_100, memoryMB: 1_100, diskMB: 1_300 },
      capacity: { cpuMhz: 4_000, memoryMB: 8_192, diskMB: 102_400 },
      matchedDeviceWeight: 0,
      evicted: [],
      lacks: '',
    });
  });

  const sized = (CpuShares: number, MemoryMB: number, DiskMB: number): Node =>
    nodeWith({
      Cpu: { CpuShares, TotalCpuCores: 1, ReservableCpuCores: null },
      Memory: { MemoryMB },
      Disk: { DiskMB },
    });

  it.each([
    ['exactly what is there', sized(100, 100, 300), ''],
    ['too little CPU', sized(99, 99, 299), 'cpu'],
    ['too little memory', sized(100, 99, 299), 'memory'],
    ['too little disk', sized(100, 100, 299), 'disk'],
  ])('SC-103: %s', (_, node, lacks) => {
    expect(fitted(fitOf(node, {})).lacks).toBe(lacks);
  });

  it('SC-102: are those of its own cores', () => {
    const Cpu = { CpuShares: 4_000, TotalCpuCores: 4, ReservableCpuCores: [0, 1, 2, 3] };
    expect(fitted(fitOf(nodeWith({ Cpu }), { cores: 1 })).wanted).toMatchObject({ cpuMhz: 1_000, cores: [0] });
    expect(fitOf(nodeWith({ Cpu }), { cores: 5 })).toEqual({ exhausted: 'cores' });
  });

  it('SC-103: a node may limit the number of its allocations', () => {
    const node = fixtures.aNode({ NodeMaxAllocs: 1 });
    expect(fitted(fitOf(node, {})).lacks).toBe('');
    expect(fitOf(node, {}, [holding(node, [])])).toEqual({ exhausted: 'max allocation exceeded' });
    const pair = fixtures.aNode({ NodeMaxAllocs: 2 });
    expect(fitted(fitOf(pair, {}, [holding(pair, [])])).lacks).toBe('');
  });
});

describe('its ports', () => {
  const static80 = fixtures.aNetwork({ ReservedPorts: [port('http', 80)] });

  it('SC-66, SC-88: are offered on the host network that the node names, and kept with the network', () => {
    const node = fixtures.aNode({ Meta: { net: 'default' } });
    const asked = fixtures.aNetwork({ DynamicPorts: [port('http', 0, '${meta.net}')] });
    const { Shared } = fitted(fitOf(node, { network: asked })).resources;
    const offered = { Label: 'http', Value: 20_000, To: 0, IgnoreCollision: false };
    expect(Shared.Ports).toEqual([{ ...offered, HostIP: '192.168.0.100' }]);
    expect(Shared.Networks).toMatchObject([
      { ReservedPorts: null, DynamicPorts: [{ ...offered, HostNetwork: 'default' }], IP: '192.168.0.100' },
    ]);
  });

  it.each([
    ['reserved port collision http=80', static80, {}, [80]],
    [
      'no addresses available for ${meta.none} network',
      fixtures.aNetwork({ ReservedPorts: [port('http', 80, '${meta.none}')] }),
      {},
      [],
    ],
    ['port collision', fixtures.aNetwork({}), {}, [90, 90]],
    ['invalid node', static80, { ReservedResources: reserving('eighty') }, []],
  ])('SC-84, SC-86, SC-90: network: %s', (reason, asked, over, held) => {
    const node = fixtures.aNode(over);
    const stored = held.map((value) => holding(node, [value]));
    expect(fitOf(node, { network: asked }, stored)).toEqual({ exhausted: `network: ${reason}` });
  });

  it('SC-89, NW-12: a task of an old job gets its own ports beside those of the group', () => {
    const job = jobAsking(100, 100);
    const [group] = job.TaskGroups;
    const [task] = group!.Tasks;
    const own = (value: number) => [
      fixtures.aNetwork({ ReservedPorts: [port('db', value, 'public')], DynamicPorts: [port('d', 0)] }),
    ];
    const fitWith = (value: number, stored: Allocation[] = [], evictions?: Evictions): Fitted => {
      const Resources = { ...task!.Resources, Networks: own(value) };
      const second = { ...task!, Name: 'second', Resources: { ...Resources, Networks: own(5_433) } };
      const Networks = [fixtures.aNetwork({ DynamicPorts: [port('http', 0)], ReservedPorts: [port('s', 80)] })];
      const TaskGroups = [{ ...group!, Networks, Tasks: [{ ...task!, Resources }, second] }];
      const { ask, plan } = new JudgingFixture({ ...job, TaskGroups }, [node], stored);
      return fit(node, ask, plan.viewOf(node.ID), () => 0, evictions);
    };
    const node = nodeWith({ Networks: [fixtures.aNetwork({ IP: '192.168.0.100' })] });
    const { Tasks, Shared } = fitted(fitWith(5_432)).resources;
    expect(Shared.Ports?.map(({ Value }) => Value)).toEqual([80, 20_000]);
    const portsOf = (name: string) => {
      const [network] = Tasks[name]!.Networks!;
      return [network!.IP, network!.ReservedPorts![0]!.Value, network!.DynamicPorts![0]!.Value];
    };
    expect(portsOf(task!.Name)).toEqual(['192.168.0.100', 5_432, 20_001]);
    expect(portsOf('second')).toEqual(['192.168.0.100', 5_433, 20_002]);
    expect(fitWith(80)).toEqual({ exhausted: 'network: reserved port collision db=80' });
    expect(fitWith(5_433)).toEqual({ exhausted: 'network: reserved port collision db=5433' });
    const holder = holding(node, [5_432]);
    expect(fitWith(5_432, [holder])).toEqual({ exhausted: 'network: reserved port collision db=5432' });
    const forPorts: Evictions['forPorts'] = ({ ReservedPorts }) =>
      ReservedPorts?.every(({ HostNetwork }) => HostNetwork === 'default') ? [holder] : undefined;
    const result = fitted(fitWith(5_432, [holder], { forPorts, forDevice: () => undefined }));
    expect(result.evicted).toEqual([holder]);
    expect(result.resources.Tasks[task!.Name]!.Networks![0]!.ReservedPorts![0]!.Value).toBe(5_432);
  });

  it('SC-138, SC-140: whoever is evicted for them takes nothing of the node any more', () => {
    const node = fixtures.aNode({ NodeMaxAllocs: 2 });
    const [victim, other] = [holding(node, [80]), holding(node, [81])];
    const result = fitted(fitOf(node, { network: static80 }, [victim, other], { forPorts: () => [victim] }));
    expect(result.evicted).toEqual([victim]);
    expect(result.used).toEqual({ cpuMhz: 1_100, memoryMB: 1_100, diskMB: 1_300 });
    expect(result.resources.Shared.Ports).toMatchObject([{ Value: 80 }]);
  });

  it('SC-138: nobody is asked for where they are free, or where evictions do not help', () => {
    const node = fixtures.aNode();
    const forPorts = vi.fn<Evictions['forPorts']>(() => undefined);
    expect(fitted(fitOf(node, { network: static80 }, [], { forPorts })).evicted).toEqual([]);
    expect(forPorts).not.toHaveBeenCalled();
    const stored = [holding(node, [80])];
    expect(fitOf(node, { network: static80 }, stored, { forPorts })).toEqual({
      exhausted: 'network: reserved port collision http=80',
    });
    expect(forPorts.mock.calls.map(([, , , proposed]) => proposed)).toEqual([stored]);
  });
});

function reserving(ReservedHostPorts: string): Node['ReservedResources'] {
  return { ...fixtures.aNode().ReservedResources, Networks: { ReservedHostPorts } };
}

describe('its devices', () => {
  it('SC-93: are those that nobody holds, others for each request, with the weight of the affinities that they meet', () => {
    const node = nodeWith({ Devices: [gpus(['a', 'b', 'c'])] });
    const devices = [
      asks({ Affinities: [likes('${device.model}', 'V100', 40)] }),
      asks({ Affinities: [likes('${device.vendor}', 'nvidia', 5)] }),
    ];
    const result = fitted(fitOf(node, { devices }, [holding(node, [], ['a'])]));
    expect(result.resources.Tasks['web']?.Devices?.map(({ DeviceIDs }) => DeviceIDs)).toEqual([['b'], ['c']]);
    expect(result.matchedDeviceWeight).toBe(45);
  });

  it.each([
    ['no devices available', null],
    ['no devices match request', [gpus(['a'])]],
  ])('SC-93: devices: %s', (reason, Devices) => {
    const node = nodeWith({ Devices });
    const forDevice = () => undefined;
    expect(fitOf(node, { devices: [asks()] }, [holding(node, [], ['a'])], { forDevice })).toEqual({
      exhausted: `devices: ${reason}`,
    });
  });

  it('SC-139, SC-140: whoever is evicted for one request is not there for the next one', () => {
    const node = nodeWith({ Devices: [gpus(['a', 'b'])] });
    const [first, second] = [holding(node, [], ['a']), holding(node, [], ['b'])];
    const forDevice = vi.fn<Evictions['forDevice']>((_request, _node, _index, proposed) => proposed.slice(0, 1));
    const result = fitted(fitOf(node, { devices: [asks(), asks()] }, [first, second], { forDevice }));
    expect(forDevice.mock.calls.map(([, , , proposed]) => proposed)).toEqual([[first, second], [second]]);
    expect(result.evicted).toEqual([first, second]);
    expect(result.used).toEqual({ cpuMhz: 100, memoryMB: 100, diskMB: 300 });
  });
});
