import type { DriverFingerprintMessage } from '@waybill/plugins';
import { expect, it } from 'vitest';
import { MAX_ATTRIBUTE_BYTES, stateOf } from './driver-health.js';

const message = (over: Partial<DriverFingerprintMessage>): DriverFingerprintMessage => ({
  attributes: { 'driver.vm.version': { string_val: '2', unit: '' }, 'driver.vm.memory': { int_val: '4', unit: 'GiB' } },
  health: 'HEALTHY',
  health_description: 'Healthy',
  err: '',
  ...over,
});

it('PG-53, PG-46: a report is the state of the driver', () => {
  expect(stateOf(message({}), 'vm')).toEqual({
    health: 'healthy',
    description: 'Healthy',
    attributes: { 'driver.vm': '1', 'driver.vm.version': '2', 'driver.vm.memory': '4GiB' },
  });
  expect(stateOf(message({ err: 'no kvm' }), 'vm')).toMatchObject({
    health: 'unhealthy',
    description: 'failed to fingerprint driver: no kvm',
  });
});

it('PG-7: attributes that would not fit a node make the driver unhealthy, with their size', () => {
  const attributes = { 'driver.vm.log': { string_val: 'x'.repeat(MAX_ATTRIBUTE_BYTES), unit: '' } };
  expect(stateOf(message({ attributes }), 'vm')).toEqual({
    health: 'unhealthy',
    description: expect.stringMatching(
      new RegExp(`^the attributes of the driver have \\d+ bytes, and at most ${MAX_ATTRIBUTE_BYTES} fit a node$`),
    ) as string,
    attributes: {},
  });
});
