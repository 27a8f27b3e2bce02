import { DeviceIndex, type Allocation, type NodeDevice, type RequestedDevice } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { victimsForDevice } from './device-preemption.js';

const group = (Name: string, ids: string[], broken: string[] = []): NodeDevice => ({
  Vendor: 'acme',
  Type: 'gpu',
  Name,
  Attributes: {},
  Instances: [
    ...ids.map((ID) => ({ ID, Healthy: true, HealthDescription: '', Locality: null })),
    ...broken.map((ID) => ({ ID, Healthy: false, HealthDescription: '', Locality: null })),
  ],
});

function holding(Priority: number, Name: string, ...DeviceIDs: string[]): Allocation {
  const alloc = fixtures.anAlloc({ Job: fixtures.aJob({ ID: `of-${Priority}`, Priority }) });
  const [[task, given]] = Object.entries(alloc.AllocatedResources.Tasks) as [[string, never]];
  const Devices = [{ Vendor: 'acme', Type: 'gpu', Name, DeviceIDs }];
  const Tasks = { [task]: { ...(given as object), Devices } } as unknown as Allocation['AllocatedResources']['Tasks'];
  return { ...alloc, AllocatedResources: { ...alloc.AllocatedResources, Tasks } };
}

function victims(
  Count: number,
  Devices: NodeDevice[] | null,
  proposed: Allocation[],
  over: Partial<RequestedDevice> = {},
): readonly Allocation[] | undefined {
  const index = new DeviceIndex();
  for (const alloc of proposed) index.addAllocation(alloc);
  const request: RequestedDevice = { Name: 'gpu', Count, Constraints: null, Affinities: null, ...over };
  const job = { ID: 'high', Namespace: 'default', Priority: 60 };
  const node = { NodeResources: { ...fixtures.aNode().NodeResources, Devices } };
  return victimsForDevice({ job, request, node, index, proposed });
}

describe('SC-139: allocations to evict for a device', () => {
  it('free as many instances as are missing beside the free ones, and no more', () => {
    const [a, b] = [holding(10, 'x', 'a'), holding(20, 'x', 'b')];
    const devices = [group('x', ['a', 'b', 'c'])];
    expect(victims(2, devices, [b, a])).toEqual([a]);
    expect(victims(3, devices, [b, a])).toEqual(expect.arrayContaining([a, b]));
    expect(victims(4, devices, [b, a])).toBeUndefined();
  });

  it('are none of those that may stay, however much they hold', () => {
    const [stays, goes] = [holding(51, 'x', 'a', 'b'), holding(50, 'x', 'c')];
    expect(victims(1, [group('x', ['a', 'b', 'c'])], [stays, goes])).toEqual([goes]);
    expect(victims(2, [group('x', ['a', 'b', 'c'])], [stays, goes])).toBeUndefined();
  });

  it('hold healthy instances of that group which the request allows', () => {
    const [broken, other, wrong] = [holding(10, 'x', 'z'), holding(10, 'y', 'a'), holding(10, 'x', 'a')];
    const right = holding(40, 'x', 'b');
    const onlyB = { Constraints: [{ LTarget: '${device.ids}', RTarget: 'b', Operand: 'set_contains' }] };
    expect(victims(1, [group('x', ['a', 'b'], ['z'])], [broken, other, wrong, right], onlyB)).toEqual([right]);
    expect(victims(1, [group('x', [], ['z'])], [broken])).toBeUndefined();
  });

  it('are needed although instances are free that are broken or not allowed', () => {
    const holder = holding(10, 'x', 'b');
    const onlyB = { Constraints: [{ LTarget: '${device.ids}', RTarget: 'b', Operand: 'set_contains' }] };
    expect(victims(1, [group('x', ['a', 'b'])], [holder], onlyB)).toEqual([holder]);
    expect(victims(1, [group('x', ['b'], ['z'])], [holder])).toEqual([holder]);
  });

  it('hold instances of the group itself: another group may have the same IDs', () => {
    const [x, y] = [holding(10, 'x', 'a'), holding(40, 'y', 'a')];
    expect(victims(1, [group('x', ['a']), group('y', ['a'])], [x, y], { Name: 'acme/gpu/y' })).toEqual([y]);
  });

  it('are none where no node has a device', () => {
    expect([victims(1, null, []), victims(1, [], [])]).toEqual([undefined, undefined]);
  });

  it('are the holders of most instances, once the lowest priorities suffice', () => {
    const [one, three, two] = [holding(10, 'x', 'a'), holding(20, 'x', 'b', 'c', 'd'), holding(30, 'x', 'e', 'f')];
    const devices = [group('x', ['a', 'b', 'c', 'd', 'e', 'f'])];
    expect(victims(3, devices, [two, three, one])).toEqual([three]);
    expect(victims(4, devices, [two, three, one])).toEqual([three, one]);
    expect(victims(5, devices, [two, three, one])).toEqual([three, two]);
  });

  it('are of the group whose distinct priorities add up to least, of equal ones of the first', () => {
    const [x, y] = [group('x', ['a', 'b']), group('y', ['c', 'd'])];
    const equal = [holding(20, 'x', 'a'), holding(20, 'x', 'b')];
    const distinct = [holding(10, 'y', 'c'), holding(15, 'y', 'd')];
    expect(victims(2, [y, x], [...distinct, ...equal])).toEqual(equal); // 20 against 25
    expect(victims(1, [x, y], [holding(20, 'x', 'a', 'b'), ...distinct])).toEqual([distinct[0]]);
    const [first, second] = [holding(20, 'x', 'a', 'b'), holding(20, 'y', 'c', 'd')];
    expect(victims(2, [x, y], [second, first])).toEqual([first]);
    expect(victims(2, [y, x], [second, first])).toEqual([second]);
  });

  it('are only of groups that match the request', () => {
    const [x, y] = [holding(10, 'x', 'a'), holding(40, 'y', 'b')];
    const devices = [group('x', ['a']), group('y', ['b'])];
    expect(victims(1, devices, [x, y], { Name: 'acme/gpu/y' })).toEqual([y]);
    expect(victims(1, devices, [x, y], { Name: 'fpga' })).toBeUndefined();
  });
});
