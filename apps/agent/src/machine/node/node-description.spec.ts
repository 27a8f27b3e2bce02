import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { describeNode, NONE_RESERVED } from './node-description.js';

describe('the machine as it is registered', () => {
  it('AG-11, AG-21: is as configured, with what is kept from tasks apart from what it has', () => {
    const { NodeResources: resources } = fixtures.aNode();
    const Cpu = { CpuShares: 300, ReservedCpuCores: [] };
    const reserved = {
      ...NONE_RESERVED,
      Cpu,
      Memory: { MemoryMB: 256 },
      Networks: { ReservedHostPorts: '22,8000-8100' },
    };
    const node = describeNode({
      nodeId: 'n',
      secretId: 's',
      name: 'rack-7',
      datacenter: 'west',
      nodeClass: 'gpu',
      nodePool: 'lab',
      meta: { row: '7' },
      httpAddr: '10.0.0.7:4646',
      tlsEnabled: true,
      attributes: { 'kernel.name': 'linux' },
      resources,
      reserved,
      drivers: new Map([['mock', { health: 'healthy', description: 'ok', attributes: { 'driver.mock': '1' } }]]),
      hostVolumes: { data: { Name: 'data', Path: '/data', ReadOnly: false, ID: '' } },
      nowMs: 0,
    });
    expect(node).toMatchObject({
      Name: 'rack-7',
      Datacenter: 'west',
      NodeClass: 'gpu',
      NodePool: 'lab',
      Meta: { row: '7' },
      HTTPAddr: '10.0.0.7:4646',
      Attributes: {
        'kernel.name': 'linux',
        'driver.mock': '1',
        'cpu.usablecompute': String(resources.Cpu.CpuShares - 300),
      },
      NodeResources: resources,
      ReservedResources: reserved,
      HostVolumes: { data: { Path: '/data' } },
      Drivers: { mock: { Detected: true, Healthy: true } },
    });
  });
});
