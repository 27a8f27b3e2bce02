import { NetworkIndex, type AllocatedPort, type Allocation, type NetworkResource, type Port } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { victimsForPorts } from './port-preemption.js';

const [FIRST, SECOND] = ['10.0.0.1', '10.0.0.2'];

const address = (Alias: string, Address: string) => ({
  Family: 'ipv4',
  Alias,
  Address,
  ReservedPorts: '',
  Gateway: '',
});
const device = (Addresses: ReturnType<typeof address>[] | null) => ({
  Mode: 'host',
  Device: 'eth0',
  MacAddress: '',
  Speed: 1_000,
  Addresses,
});

const port = (Value: number, over: Partial<Port> = {}): Port => ({
  Label: `p${Value}`,
  Value,
  To: 0,
  HostNetwork: 'default',
  IgnoreCollision: false,
  ...over,
});

const asking = (ReservedPorts: Port[] | null): NetworkResource => fixtures.aNetwork({ ReservedPorts });

/** An allocation of a job of this priority, which holds these ports. */
function holding(Priority: number, ...ports: [HostIP: string, Value: number, IgnoreCollision?: boolean][]): Allocation {
  const alloc = fixtures.anAlloc({ Job: fixtures.aJob({ ID: `of-${Priority}`, Priority }) });
  const Ports = ports.map(([HostIP, Value, IgnoreCollision = false]): AllocatedPort => ({
    Label: `p${Value}`,
    Value,
    To: 0,
    HostIP,
    IgnoreCollision,
  }));
  const { AllocatedResources: resources } = alloc;
  return { ...alloc, AllocatedResources: { ...resources, Shared: { ...resources.Shared, Ports } } };
}

/** What goes for ports of a job of priority 50, and the index that was asked. */
function victims(
  wanted: NetworkResource,
  proposed: Allocation[],
  NodeNetworks: ReturnType<typeof device>[] | null = [device([address('default', FIRST)])],
) {
  const node = fixtures.aNode({ NodeResources: { ...fixtures.aNode().NodeResources, NodeNetworks, Networks: [] } });
  const index = NetworkIndex.ofNode(node);
  for (const alloc of proposed) index.addAllocation(alloc);
  const job = { ID: 'high', Namespace: 'default', Priority: 50 };
  return { found: victimsForPorts({ job, wanted, node, index, proposed }), index };
}

describe('SC-138: allocations to evict for static ports', () => {
  it('are the holders of the ports that are not free, in the order of the ports', () => {
    const [a, b, c] = [holding(20, [FIRST, 80]), holding(10, [FIRST, 443]), holding(30, [FIRST, 8080])];
    expect(victims(asking([port(8080), port(7), port(80)]), [a, b, c]).found).toEqual([c, a]);
  });

  it('are none if no static port is wanted or all are free, as the holders are not the reason then', () => {
    const held = holding(20, [FIRST, 80]);
    expect(victims(asking(null), [held]).found).toBeUndefined();
    expect(victims(asking([]), [held]).found).toBeUndefined();
    expect(victims(asking([port(81)]), [held]).found).toBeUndefined();
  });

  it('are none on a node without network devices', () => {
    expect(victims(asking([port(80)]), [], null).found).toBeUndefined();
  });

  it('hold the port on an address of its host network; the default one is meant if none is named', () => {
    const [inside, outside] = [holding(20, [FIRST, 80]), holding(20, [SECOND, 80])];
    const networks = [device([address('private', FIRST), address('default', SECOND)])];
    expect(victims(asking([port(80)]), [inside, outside], networks).found).toEqual([outside]);
    expect(victims(asking([port(80, { HostNetwork: '' })]), [inside, outside], networks).found).toEqual([outside]);
    expect(victims(asking([port(80, { HostNetwork: 'private' })]), [inside, outside], networks).found).toEqual([
      inside,
    ]);
  });

  it('are of the first address where all holders may go, and not of two addresses', () => {
    const networks = [device([address('default', FIRST), address('default', SECOND)])];
    const [stays, first, second] = [holding(45, [FIRST, 80]), holding(20, [FIRST, 80]), holding(20, [SECOND, 80])];
    expect(victims(asking([port(80)]), [first, second], networks).found).toEqual([first]);
    expect(victims(asking([port(80)]), [stays, second], networks).found).toEqual([second]);
  });

  it('are all holders of a shared port, or none', () => {
    const [one, two, stays] = [
      holding(20, [FIRST, 80, true]),
      holding(30, [FIRST, 80, true]),
      holding(45, [FIRST, 80, true]),
    ];
    expect(victims(asking([port(80)]), [one, two]).found).toEqual([one, two]);
    expect(victims(asking([port(80)]), [one, stays]).found).toBeUndefined();
  });

  it('are none if a port cannot be had on any device', () => {
    const [goes, stays] = [holding(20, [FIRST, 80]), holding(45, [FIRST, 443])];
    expect(victims(asking([port(80), port(443)]), [goes, stays]).found).toBeUndefined();
    expect(victims(asking([port(80), port(70_000)]), [goes]).found).toBeUndefined();
  });

  it('are not taken from two devices: what the first one cannot free alone stays', () => {
    const networks = [device([address('default', FIRST)]), device([address('private', SECOND)])];
    const [goes, stays, inside] = [holding(20, [FIRST, 80]), holding(45, [FIRST, 443]), holding(20, [SECOND, 80])];
    const both = asking([port(80), port(443)]);
    expect(victims(both, [goes, stays, inside], networks).found).toBeUndefined();
    expect(victims(asking([port(80, { HostNetwork: 'private' })]), [goes, inside], networks).found).toEqual([inside]);
  });

  it('leave a port taken that another allocation shares and keeps', () => {
    const [goes, stays] = [holding(20, [FIRST, 80], [FIRST, 443, true]), holding(45, [FIRST, 443, true])];
    expect(victims(asking([port(80), port(443)]), [goes, stays]).found).toBeUndefined();
  });

  it.each([
    ['found', [port(80)]],
    ['not found', [port(80), port(443)]],
  ])('are still in the index when they are %s', (_outcome, ports) => {
    const { index } = victims(asking(ports), [holding(20, [FIRST, 80]), holding(45, [FIRST, 443])]);
    const offered = [80, 443].map((value) => 'error' in index.offer(asking([port(value)]), () => 0));
    expect(offered).toEqual([true, true]);
  });
});
