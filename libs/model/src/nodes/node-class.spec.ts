import { expect, it } from 'vitest';
import type { Node, NodeDevice } from './node.js';
import { computedClass, escapesComputedClass } from './node-class.js';

const device: NodeDevice = {
  Vendor: 'v',
  Type: 'gpu',
  Name: 'n',
  Instances: [],
  Attributes: { memory: 4, 'unique.serial': 'x' },
};

const facts: Parameters<typeof computedClass>[0] = {
  Datacenter: 'dc1',
  NodeClass: '',
  NodePool: 'default',
  Attributes: { 'kernel.name': 'linux', 'cpu.arch': 'amd64', 'unique.hostname': 'a' },
  Meta: { rack: 'r1', 'unique.slot': '1' },
  NodeResources: {
    Cpu: { CpuShares: 1, TotalCpuCores: 1, ReservableCpuCores: null },
    Processors: { Topology: null },
    Memory: { MemoryMB: 1 },
    Disk: { DiskMB: 1 },
    Devices: [device],
    NodeNetworks: null,
    Networks: null,
    MinDynamicPort: 1,
    MaxDynamicPort: 2,
  },
};

const changed = (change: Partial<Node>) => computedClass({ ...facts, ...change });

it('ND-43 ND-44: nodes that differ only in unique keys share a class', () => {
  const other = changed({
    Attributes: { ...facts.Attributes, 'unique.hostname': 'b' },
    Meta: { ...facts.Meta, 'unique.slot': '2' },
  });
  expect(other).toBe(computedClass(facts));
  expect(computedClass(facts)).toMatch(/^v1:\d+$/);
});

it('ND-45: resources, device instances and drivers do not affect the class', () => {
  const other = changed({
    NodeResources: {
      ...facts.NodeResources,
      Memory: { MemoryMB: 999 },
      Devices: [{ ...device, Instances: [{ ID: 'i', Healthy: false, HealthDescription: '', Locality: null }] }],
    },
  });
  expect(other).toBe(computedClass(facts));
});

it('ND-46: map order does not matter, every other value does', () => {
  const reordered = Object.fromEntries(Object.entries(facts.Attributes).toReversed());
  expect(changed({ Attributes: reordered })).toBe(computedClass(facts));
  const others = [
    changed({ Datacenter: 'dc2' }),
    changed({ NodeClass: 'big' }),
    changed({ NodePool: 'gpu' }),
    changed({ Attributes: { ...facts.Attributes, 'cpu.arch': 'arm64' } }),
    changed({ Meta: { ...facts.Meta, rack: 'r2' } }),
    changed({ NodeResources: { ...facts.NodeResources, Devices: null } }),
  ];
  expect(new Set([computedClass(facts), ...others]).size).toBe(others.length + 1);
});

it('ND-47: targets about one node escape the class', () => {
  const escaping = ['${node.unique.id}', '${attr.unique.hostname}', '${meta.unique.slot}', '${unique.x}'];
  expect(escaping.every(escapesComputedClass)).toBe(true);
  expect(['${attr.cpu.arch}', '${node.class}', 'unique.x'].some(escapesComputedClass)).toBe(false);
});
