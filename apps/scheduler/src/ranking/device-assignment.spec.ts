import { DeviceIndex, type AllocatedDevice } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { asks, gpus, likes, rule } from '../device.fixture.js';
import { hasDevices, offerDevice, withDevice } from './device-assignment.js';

const held = (...DeviceIDs: string[]): AllocatedDevice => ({ Vendor: 'nvidia', Type: 'gpu', Name: 'V100', DeviceIDs });
const indexOf = (...ids: string[]): DeviceIndex => {
  const index = new DeviceIndex();
  if (ids.length > 0) index.claimInstances(held(...ids));
  return index;
};

describe('the devices that a request is offered (SC-93)', () => {
  const v100 = gpus(['a', 'b', 'c!', 'd']);
  const a100 = gpus(['x', 'y'], { Name: 'A100' });

  it.each([
    ['no devices available', [], asks({ Count: 0 })],
    ['invalid request of zero devices', [v100], asks({ Count: 0 })],
    ['no devices match request', [v100], asks({ Name: 'fpga' })],
    ['no devices match request', [v100], asks({ Count: 4 })],
    ['no devices match request', [v100, a100], asks({ Count: 4 })],
  ])('none: %s', (error, devices, request) => {
    expect(offerDevice(devices, request, indexOf())).toEqual({ error });
  });

  it.each([
    ['as many as asked for, in the order of the node', indexOf(), asks({ Count: 2 }), 'V100', ['a', 'b']],
    ['SC-96: those that nobody holds', indexOf('a'), asks({ Count: 2 }), 'V100', ['b', 'd']],
    ['all that are free', indexOf(), asks({ Count: 3 }), 'V100', ['a', 'b', 'd']],
    ['SC-91: of the group that the request names', indexOf(), asks({ Name: 'nvidia/gpu/A100' }), 'A100', ['x']],
    ['of the group that has enough', indexOf('a', 'b'), asks({ Count: 2 }), 'A100', ['x', 'y']],
    [
      'SC-94: instances that a constraint allows',
      indexOf(),
      asks({ Constraints: [rule('${device.ids}', '!=', 'a')] }),
      'V100',
      ['b'],
    ],
  ])('%s', (_, index, request, Name, DeviceIDs) => {
    expect(offerDevice([v100, a100], request, index)).toEqual({
      device: { Vendor: 'nvidia', Type: 'gpu', Name, DeviceIDs },
      matchedWeight: 0,
    });
  });

  it.each([
    ['the first of equal groups', [v100, a100], 'V100', 0],
    ['the group with the higher affinity', [v100, a100], 'A100', 50],
    ['the group with the higher affinity, if it comes first', [a100, v100], 'A100', 50],
  ])('%s', (_, devices, Name, matchedWeight) => {
    const Affinities = [likes('${device.model}', matchedWeight > 0 ? 'A100' : 'other', 50)];
    expect(offerDevice(devices, asks({ Affinities }), indexOf())).toMatchObject({ device: { Name }, matchedWeight });
  });

  it('a task keeps the devices of its earlier requests, and other tasks stay as they are', () => {
    const { AllocatedResources: given } = fixtures.anAlloc();
    const both = withDevice(withDevice(given, 'web', held('a')), 'web', held('b'));
    expect(both.Tasks['web']?.Devices).toEqual([held('a'), held('b')]);
    expect([given.Tasks['web']?.Devices, withDevice(given, 'other', held('a'))]).toEqual([null, given]);
  });
});

describe('whether the healthy devices of a node suffice (SC-92)', () => {
  const ask = (over: Parameters<typeof asks>[0] = {}) => ({ task: 'web', request: asks(over) });
  const v100 = gpus(['a', 'b!']);
  const a100 = gpus(['c', 'd'], { Name: 'A100' });

  it.each([
    ['no request', [], true],
    ['one request, of two groups together', [ask({ Count: 3 })], true],
    ['one more than there are', [ask({ Count: 4 })], false],
    ['all requests together', [ask(), ask({ Count: 2 })], true],
    ['all requests together, one more', [ask({ Count: 2 }), ask({ Count: 2 })], false],
    ['a group that is used up by the request before', [ask({ Name: 'nvidia/gpu/A100', Count: 2 }), ask()], true],
    ['what the request before has left', [ask({ Count: 2 }), ask({ Name: 'nvidia/gpu/A100' })], true],
    ['a name that no device has', [ask({ Name: 'fpga' })], false],
    ['SC-94: an allowed instance', [ask({ Constraints: [rule('${device.ids}', 'set_contains', 'd')] })], true],
    [
      'SC-94: fewer allowed instances than asked for',
      [ask({ Count: 2, Constraints: [rule('${device.ids}', 'set_contains', 'd')] })],
      false,
    ],
  ])('%s', (_, requests, suffices) => {
    expect(hasDevices([v100, a100], requests)).toBe(suffices);
  });
});
