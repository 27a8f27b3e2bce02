import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { lostAddress } from './lost-address.js';

const port = (HostIP: string) => ({ Label: 'http', Value: 8_080, To: 0, HostIP, IgnoreCollision: false });

function allocationWith(hostIps: readonly string[], networkIp = '') {
  const alloc = fixtures.anAlloc();
  const Networks = networkIp === '' ? null : [fixtures.aNetwork({ IP: networkIp })];
  const Shared = { ...alloc.AllocatedResources.Shared, Ports: hostIps.map(port), Networks };
  return { ...alloc, AllocatedResources: { ...alloc.AllocatedResources, Shared } };
}

describe('the address of an allocation', () => {
  it('NW-157: is lost if the machine has others', () => {
    const alloc = allocationWith(['10.0.0.5', '10.0.0.6'], '10.0.0.5');
    expect(lostAddress(alloc, ['10.0.0.5', '10.0.0.6', 'fd00::1'])).toBeUndefined();
    expect(lostAddress(alloc, ['10.0.0.5'])).toBe('10.0.0.6');
    expect(lostAddress(allocationWith([], '10.0.0.5'), ['10.0.0.7'])).toBe('10.0.0.5');
    expect(lostAddress(allocationWith(['fd00::5']), ['fd00::6'])).toBe('fd00::5');
  });

  it("NW-12, NW-157: is lost if the task's own network was on it", () => {
    const alloc = allocationWith([]);
    const [[name, task]] = Object.entries(alloc.AllocatedResources.Tasks) as [[string, object]];
    const Tasks = { [name]: { ...task, Networks: [fixtures.aNetwork({ IP: '10.0.0.5' })] } };
    const old = { AllocatedResources: { ...alloc.AllocatedResources, Tasks } } as typeof alloc;
    expect(lostAddress(old, ['10.0.0.7'])).toBe('10.0.0.5');
    expect(lostAddress(old, ['10.0.0.5'])).toBeUndefined();
  });

  it('NW-157: is not lost while the machine has none, or if every machine has it', () => {
    expect(lostAddress(allocationWith(['10.0.0.5']), [])).toBeUndefined();
    for (const own of ['127.0.0.1', '127.1.2.3', '::1', '0.0.0.0', '::', ''])
      expect(lostAddress(allocationWith([own]), ['10.0.0.7']), own).toBeUndefined();
    expect(lostAddress(allocationWith([]), ['10.0.0.7'])).toBeUndefined();
  });
});
