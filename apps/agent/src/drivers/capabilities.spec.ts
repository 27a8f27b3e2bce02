import { describe, expect, it } from 'vitest';
import { addedCapabilities, boundingCapabilities, DEFAULT_CAPABILITIES } from './capabilities.js';

describe('what a task may have', () => {
  it.each([
    [[], [], DEFAULT_CAPABILITIES, DEFAULT_CAPABILITIES],
    [[], ['all'], DEFAULT_CAPABILITIES, []],
    [['chown'], ['ALL'], DEFAULT_CAPABILITIES, ['chown']],
    [['CAP_NET_ADMIN'], ['all'], ['net_admin', 'chown'], ['net_admin']],
    [['all'], [], ['net_admin', 'chown'], ['chown', 'net_admin']],
    [[], ['CAP_KILL'], ['kill', 'chown'], ['chown']],
    [[], [], ['chown'], ['chown']],
  ])('AG-280: %j added, %j dropped, %j allowed: %j', (added, dropped, allowed, has) => {
    expect(boundingCapabilities(added, dropped, allowed)).toEqual(has);
  });

  it('AG-280: what is not allowed is named', () => {
    expect(() => addedCapabilities(['sys_admin', 'chown', 'bpf'], ['chown'])).toThrow(
      'driver does not allow the following capabilities: bpf, sys_admin',
    );
  });
});
