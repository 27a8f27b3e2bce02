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

  it('SC-90: reservations that cannot be read make the node invalid', () => {
    expect(NetworkIndex.ofNode(node('80-')).invalid).not.toBe('');
    expect(parsePortRanges('22, 80-82')).toEqual([22, 80, 81, 82]);
    expect(parsePortRanges('9-1')).toBeUndefined();
  });
});
