import { describe, expect, it } from 'vitest';
import { usageOf } from './fit.js';
import { NetworkIndex, parsePortRanges } from './network-index.js';
import type { Node } from './node.js';
import type { AllocatedResources, NetworkResource, Port, TaskLifecycle } from './resources.js';

/** name → MHz, MB, lifecycle. */
function resources(tasks: Record<string, [number, number, TaskLifecycle | null, number[]?]>): AllocatedResources {
  const entries = Object.entries(tasks);
  return {
    Tasks: Object.fromEntries(
      entries.map(([name, [CpuShares, MemoryMB, , ReservedCores]]) => [
        name,
        {
          Cpu: { CpuShares, ReservedCores: ReservedCores ?? null },
          Memory: { MemoryMB, MemoryMaxMB: 0 },
          Networks: null,
          Devices: null,
        },
      ]),
    ),
    TaskLifecycles: Object.fromEntries(entries.map(([name, [, , lifecycle]]) => [name, lifecycle])),
    Shared: { Networks: null, DiskMB: 300, Ports: null },
  };
}

describe('what an allocation takes', () => {
  it('SC-100: the largest of what runs before, during and after', () => {
    const used = usageOf(
      resources({
        init: [1000, 256, { Hook: 'prestart', Sidecar: false }],
        proxy: [500, 128, { Hook: 'prestart', Sidecar: true }],
        main: [1000, 512, null],
        cleanup: [2000, 64, { Hook: 'poststop', Sidecar: false }],
      }),
    );
    expect(used).toEqual({ cpuMhz: 2000, memoryMB: 640, diskMB: 300, cores: [] });
  });

  it('SC-101: tasks with cores of their own always add', () => {
    const used = usageOf(
      resources({
        main: [1000, 512, null],
        pinned: [3000, 128, { Hook: 'poststop', Sidecar: false }, [2, 3]],
      }),
    );
    expect(used).toMatchObject({ cpuMhz: 4000, memoryMB: 512, cores: [2, 3] });
  });
});

describe('ports', () => {
  const node = (reserved = ''): Pick<Node, 'NodeResources' | 'ReservedResources'> => {
    const address = { Family: 'ipv4', Alias: 'default', Address: '10.0.0.1', ReservedPorts: '443', Gateway: '' };
    const second = { ...address, Address: '10.0.0.2', ReservedPorts: '' };
    return {
      NodeResources: {
        Cpu: { CpuShares: 0, TotalCpuCores: 0, ReservableCpuCores: null },
        Processors: { Topology: null },
        Memory: { MemoryMB: 0 },
        Disk: { DiskMB: 0 },
        Devices: null,
        NodeNetworks: [{ Mode: 'host', Device: '', MacAddress: '', Speed: 0, Addresses: [address, second] }],
        Networks: null,
        MinDynamicPort: 20_000,
        MaxDynamicPort: 20_002,
      },
      ReservedResources: {
        Cpu: { CpuShares: 0, ReservedCpuCores: null },
        Memory: { MemoryMB: 0 },
        Disk: { DiskMB: 0 },
        Networks: { ReservedHostPorts: reserved },
      },
    };
  };
  const port = (Label: string, Value: number, To = 0): Port => ({
    Label,
    Value,
    To,
    HostNetwork: '',
    IgnoreCollision: false,
  });
  const ask = (ReservedPorts: Port[], DynamicPorts: Port[] = []): NetworkResource => ({
    Mode: '',
    Device: '',
    CIDR: '',
    IP: '',
    Hostname: '',
    MBits: 0,
    DNS: null,
    ReservedPorts,
    DynamicPorts,
    CNI: null,
  });
  const random = (): number => 0;

  it('SC-83, SC-84: the first address where the port is free; then a collision', () => {
    const index = NetworkIndex.ofNode(node('22,80,8500-8600'));
    expect(index.offer(ask([port('https', 443)]), random)).toMatchObject({ ports: [{ HostIP: '10.0.0.2' }] });
    expect(index.offer(ask([port('ssh', 22)]), random)).toEqual({ error: 'reserved port collision ssh=22' });
    expect(index.offer(ask([port('c', 8550)]), random)).toEqual({ error: 'reserved port collision c=8550' });
  });

  it('SC-85, SC-87: dynamic ports are in range, differ, and fill `To` -1', () => {
    const offer = NetworkIndex.ofNode(node()).offer(
      ask([port('x', 20_000)], [port('a', 0, -1), port('b', 0, 80)]),
      random,
    );
    expect(offer).toMatchObject({
      ports: [
        { Label: 'x', Value: 20_000 },
        { Label: 'a', Value: 20_001, To: 20_001 },
        { Label: 'b', Value: 20_002, To: 80 },
      ],
    });
  });

  it('SC-85: a range that is used up goes on with the next address, then fails', () => {
    const index = NetworkIndex.ofNode(node());
    const taken: string[] = [];
    for (let i = 0; i < 6; i++) {
      const offer = index.offer(ask([], [port('a', 0)]), random);
      if ('error' in offer) throw new Error(offer.error);
      const Ports = offer.ports;
      index.addAllocation({
        AllocatedResources: { Tasks: {}, TaskLifecycles: {}, Shared: { Networks: null, DiskMB: 0, Ports } },
      });
      taken.push(`${Ports[0]!.HostIP}:${Ports[0]!.Value}`);
    }
    expect(new Set(taken).size).toBe(6);
    expect(index.offer(ask([], [port('a', 0)]), random)).toEqual({ error: 'dynamic port selection failed' });
  });

  it('SC-86: no address of that name, and ports that are none', () => {
    const index = NetworkIndex.ofNode(node());
    expect(index.offer(ask([{ ...port('p', 80), HostNetwork: 'public' }]), random)).toEqual({
      error: 'no addresses available for public network',
    });
    expect(index.offer(ask([port('p', 65_536)]), random)).toEqual({ error: 'invalid port 65536 (out of range)' });
  });

  it('SC-89, NW-12: the ports of a task are on one address of the machine, whatever their host network is', () => {
    const host = (IP: string, MBits: number): NetworkResource => ({
      ...ask([]),
      Mode: 'host',
      Device: `to${IP}`,
      IP,
      MBits,
    });
    const { NodeResources, ...rest } = node();
    const Networks = [{ ...host('', 0), Mode: 'bridge' }, host('10.0.0.1', 100), host('10.0.0.2', 1_000)];
    const index = NetworkIndex.ofNode({ ...rest, NodeResources: { ...NodeResources, Networks } });
    const taken = (asked: NetworkResource): NetworkResource => {
      const offer = index.offerForTask(asked, random);
      if ('error' in offer) throw new Error(offer.error);
      index.addOfferedNetwork(offer.network);
      return offer.network;
    };
    const wanted = ask([{ ...port('db', 5_432, 1), HostNetwork: 'public' }], [port('a', 0, -1), port('b', 0, 80)]);
    expect(taken({ ...wanted, MBits: 90 })).toEqual({
      ...ask([{ ...port('db', 5_432, 1), HostNetwork: 'public' }], [port('a', 20_000, 20_000), port('b', 20_001, 80)]),
      Device: 'to10.0.0.1',
      IP: '10.0.0.1',
      MBits: 90,
    });
    expect(taken(wanted).IP).toBe('10.0.0.2'); // 5432 is taken on the first address
    expect(taken({ ...ask([port('x', 80)]), MBits: 10 }).IP).toBe('10.0.0.1');
    expect(taken({ ...ask([port('x', 81)]), MBits: 1 }).IP).toBe('10.0.0.2'); // 100 MBit/s are used up on the first
    expect(index.offerForTask({ ...ask([]), MBits: 1_000 }, random)).toEqual({ error: 'bandwidth exceeded' });
    expect(index.offerForTask(wanted, random)).toEqual({ error: 'reserved port collision db=5432' });
  });

  it('SC-89: the bandwidth of a removed allocation is free again, and a speed of 0 bounds nothing', () => {
    const { NodeResources, ...rest } = node();
    const withSpeed = (MBits: number) =>
      NetworkIndex.ofNode({
        ...rest,
        NodeResources: { ...NodeResources, Networks: [{ ...ask([]), IP: '10.0.0.1', MBits }] },
      });
    const Task = resources({ web: [1, 1, null] }).Tasks['web']!;
    const Networks = [{ ...ask([]), IP: '10.0.0.1', MBits: 60 }];
    const alloc = { AllocatedResources: { ...resources({}), Tasks: { web: { ...Task, Networks } } } };
    const index = withSpeed(100);
    index.addAllocation(alloc);
    expect(index.offerForTask(Networks[0]!, random)).toEqual({ error: 'bandwidth exceeded' });
    index.removeAllocation(alloc);
    expect(index.offerForTask(Networks[0]!, random)).toHaveProperty('network.IP', '10.0.0.1');
    expect(withSpeed(0).offerForTask(Networks[0]!, random)).toHaveProperty('network.IP', '10.0.0.1');
    expect(NetworkIndex.ofNode(node()).offerForTask(ask([]), random)).toEqual({ error: 'no networks available' });
  });

  it('SC-90: reservations that cannot be read make the node invalid', () => {
    expect(NetworkIndex.ofNode(node('80-')).invalid).not.toBe('');
    expect(parsePortRanges('22, 80-82')).toEqual([22, 80, 81, 82]);
    expect(parsePortRanges('9-1')).toBeUndefined();
  });
});
