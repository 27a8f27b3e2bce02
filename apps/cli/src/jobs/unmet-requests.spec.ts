import type { DriverInfo } from '@waybill/model';
import { describe, expect, it } from 'vitest';
import { unmetRequests } from './unmet-requests.js';

type Machine = Parameters<typeof unmetRequests>[3][number];
type Group = Parameters<typeof unmetRequests>[2];

const driver = (Healthy: boolean): DriverInfo => ({
  Attributes: null,
  Detected: true,
  Healthy,
  HealthDescription: '',
  UpdateTime: null,
});
const machine = (memory: number, over: Partial<Machine> = {}): Machine => ({
  NodePool: 'default',
  Status: 'ready',
  Drivers: { raw_exec: driver(true), docker: driver(false) },
  NodeResources: {
    Cpu: { CpuShares: 4_000 },
    Memory: { MemoryMB: memory },
    Disk: { DiskMB: 9_000 },
  } as Machine['NodeResources'],
  ReservedResources: {
    Cpu: { CpuShares: 100, ReservedCpuCores: null },
    Memory: { MemoryMB: 24 },
    Disk: { DiskMB: 0 },
    Networks: { ReservedHostPorts: '' },
  },
  ...over,
});
const group = (Driver: string, MemoryMB: number, Lifecycle: unknown = null): Group => ({
  Name: 'g',
  EphemeralDisk: { SizeMB: 300 },
  Tasks: [{ Driver, Resources: { CPU: 500, MemoryMB }, Lifecycle }],
});
const NODES = [machine(1_024), machine(8_024), machine(64_000, { NodePool: 'big' }), machine(900, { Status: 'down' })];
const memory = { DimensionExhausted: { memory: 2 } };
const pool = (NodePool: string) => ({ NodePool });

describe('what was asked and what there is', () => {
  it('CL-221: a dimension names the largest machine of the pool, without what is reserved', () => {
    expect(unmetRequests(memory, pool('default'), group('raw_exec', 100_000), NODES)).toEqual([
      '* memory: asked 100000 MiB, the largest node has 8000 MiB',
    ]);
    expect(unmetRequests(memory, pool('default'), group('raw_exec', 8_000), NODES)).toEqual([
      '* memory: asked 8000 MiB, the largest node has 8000 MiB, and other work holds part of it',
    ]);
    expect(unmetRequests(memory, pool('all'), group('raw_exec', 100_000), NODES)).toEqual([
      '* memory: asked 100000 MiB, the largest node has 63976 MiB',
    ]);
    expect(unmetRequests({ DimensionExhausted: { cpu: 1, disk: 1 } }, pool('default'), group('x', 1), NODES)).toEqual([
      '* cpu: asked 500 MHz, the largest node has 3900 MHz, and other work holds part of it',
      '* disk: asked 300 MiB, the largest node has 9000 MiB, and other work holds part of it',
    ]);
  });

  it('CL-221: a driver says on how many machines it is healthy', () => {
    const missing = { ConstraintFiltered: { 'missing drivers': 2 } };
    expect(unmetRequests(missing, pool('default'), group('podmann', 1), NODES)).toEqual([
      '* driver "podmann" is on none of 2 nodes',
    ]);
    const some = [...NODES, machine(10, { Drivers: { docker: driver(true) } })];
    expect(unmetRequests(missing, pool('default'), group('docker', 1), some)).toEqual([
      '* driver "docker" is on 1 of 3 nodes',
    ]);
  });

  it('CL-221: an attribute that a constraint compares says what the nodes have', () => {
    const on = (kernel: string, Meta: Record<string, string> = {}) =>
      machine(1, { Attributes: { 'kernel.name': kernel }, Meta });
    const told = (constraint: string, all: Machine[]) =>
      unmetRequests({ ConstraintFiltered: { [constraint]: 1 } }, pool('default'), group('raw_exec', 1), all);
    const both = [on('linux'), on('darwin', { rack: 'r1' })];
    expect(told('${attr.kernel.name} = windows', both)).toEqual([
      '* attribute "kernel.name": nodes have "darwin", "linux"',
    ]);
    expect(told('${attr.gpu.model} = a100', both)).toEqual(['* attribute "gpu.model" is on none of 2 nodes']);
    expect(told('${meta.rack} = r2', both)).toEqual(['* meta "rack": nodes have "r1"']);
    expect(
      told(
        '${attr.kernel.name} = x',
        ['a', 'b', 'c', 'd', 'e'].map((name) => on(name)),
      ),
    ).toEqual(['* attribute "kernel.name": nodes have "a", "b", "c" and 2 more']);
    // Of machines that were not read by themselves nothing is known, and of other targets nothing is said.
    expect(told('${attr.gpu.model} = a100', NODES)).toEqual([]);
    expect(told('${node.class} = big', both)).toEqual([]);
  });

  it('says nothing that it does not know: tasks that do not all run at once, other causes, no machine', () => {
    const before = { Hook: 'prestart', Sidecar: false };
    expect(unmetRequests(memory, pool('default'), group('raw_exec', 9_000, before), NODES)).toEqual([]);
    expect(unmetRequests({ ClassFiltered: { a: 1 } }, pool('default'), group('x', 1), NODES)).toEqual([]);
    expect(unmetRequests(memory, pool('none'), group('raw_exec', 1), NODES)).toEqual([]);
    const unset = { Name: 'g', Tasks: [{ Driver: 'podmann', Resources: { CPU: null, MemoryMB: null } }] };
    const both = { ...memory, ConstraintFiltered: { 'missing drivers': 2 } };
    expect(unmetRequests(both, { NodePool: null }, unset, NODES)).toEqual(['* driver "podmann" is on none of 2 nodes']);
    expect(unmetRequests(memory, {}, { Name: 'g', Tasks: [{ Driver: 'raw_exec' }] }, NODES)).toEqual([]);
  });
});
