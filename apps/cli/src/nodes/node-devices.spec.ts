import type { NodeDevice } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { deviceAttributes, deviceUse } from './node-devices.js';

const GPU: NodeDevice = {
  Vendor: 'nvidia',
  Type: 'gpu',
  Name: 'T4',
  Instances: [
    { ID: 'b', Healthy: false, HealthDescription: 'too hot', Locality: null },
    { ID: 'a', Healthy: true, HealthDescription: '', Locality: null },
    { ID: 'c', Healthy: true, HealthDescription: '', Locality: null },
  ],
  Attributes: { memory: { Int: 11441, Float: null, String: null, Bool: null, Unit: 'MiB' }, ecc: { Bool: true } },
};

describe('devices of a machine', () => {
  it('CL-505, PG-101: each instance with its use, an unhealthy one with the reason, and one without statistics', () => {
    const Summary = { IntNumeratorVal: 120, IntDenominatorVal: 11441, Unit: 'MiB' };
    const DeviceStats = [{ Vendor: 'nvidia', Type: 'gpu', Name: 'T4', InstanceStats: { a: { Summary } } }];
    expect(deviceUse([GPU], { DeviceStats })!.split('\n')).toEqual([
      'nvidia/gpu/T4[a] = 120 / 11441 MiB',
      'nvidia/gpu/T4[b] = unhealthy: too hot',
      'nvidia/gpu/T4[c] = <none>',
    ]);
    expect(deviceUse([], {})).toBeUndefined();
  });

  it('CL-505: the attributes of a group', () => {
    expect(deviceAttributes([GPU])).toBe('Device Group = nvidia/gpu/T4\necc          = true\nmemory       = 11441 MiB');
    expect(deviceAttributes(null)).toBeUndefined();
  });
});
