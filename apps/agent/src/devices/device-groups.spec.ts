import type { DeviceGroupMessage } from '@waybill/plugins';
import { describe, expect, it } from 'vitest';
import { joinedDevices, listFault, MAX_DEVICE_LIST_BYTES } from './device-groups.js';

const group = (over: Partial<DeviceGroupMessage> = {}): DeviceGroupMessage => ({
  vendor: 'nvidia',
  device_type: 'gpu',
  device_name: 'T4',
  devices: [{ ID: 'a', healthy: true, health_description: '', hw_locality: { pci_bus_id: '00:1f' } }],
  attributes: { memory: { int_val: '11441', unit: 'MiB' } },
  ...over,
});

describe('devices of plugins', () => {
  it('PG-92: a group without its names, an instance without ID and an odd attribute are faults', () => {
    const device = { ID: '', healthy: true, health_description: '', hw_locality: null };
    expect([
      listFault([group()]),
      listFault([group(), group({ vendor: '' })]),
      listFault([group({ device_type: '' })]),
      listFault([group({ device_name: '' })]),
      listFault([group({ devices: [device] })]),
      listFault([group({ attributes: { x: { unit: '' } } })]),
      listFault([]),
    ]).toEqual([
      undefined,
      'device vendor must be specified',
      'device type must be specified',
      'device name must be specified',
      'device ID must be specified',
      'device attribute "x" invalid: no attribute value set',
      undefined,
    ]);
  });

  it('PG-7: a list that would not fit a node is a fault, with its size', () => {
    const [device] = group().devices;
    const devices = (count: number) => Array.from({ length: count }, (_, n) => ({ ...device!, ID: `GPU-${n}` }));
    expect(listFault([group({ devices: devices(1_000) })])).toBeUndefined();
    expect(listFault([group({ devices: devices(100_000) })])).toMatch(
      new RegExp(`^the list of devices has \\d+ bytes, and at most ${MAX_DEVICE_LIST_BYTES} fit a node: `),
    );
    const attributes = { notes: { string_val: 'x'.repeat(MAX_DEVICE_LIST_BYTES), unit: '' } };
    expect(listFault([group({ attributes })])).toMatch(/^the list of devices has/);
  });

  it('PG-94, PG-95: groups are in order, those of one name are joined, and the second of an ID is dropped', () => {
    const dropped: string[] = [];
    const [first] = group().devices;
    const other = group({ devices: [first!, { ...first!, ID: 'b', healthy: false }] });
    const joined = joinedDevices([[group({ device_name: 'Z' }), group()], [other]], (name, id) =>
      dropped.push(`${name} ${id}`),
    );
    expect(joined.map(({ Name, Instances }) => [Name, Instances.map(({ ID }) => ID)])).toEqual([
      ['T4', ['a', 'b']],
      ['Z', ['a']],
    ]);
    expect(dropped).toEqual(['nvidia/gpu/T4 a']);
    expect(joined[0]).toMatchObject({
      Instances: [{ Locality: { PciBusID: '00:1f' } }, { Healthy: false }],
      Attributes: { memory: { Int: 11441, Float: null, String: null, Bool: null, Unit: 'MiB' } },
    });
  });
});
