import { describe, expect, it } from 'vitest';
import { filteredMachines, groupsOf, machinesOf, placedAllocation, shareOf, topologyNode } from './topology.js';

const node = (id: string, over = {}) => ({
  id,
  name: id,
  state: 'ready',
  datacenter: 'dc1',
  pool: 'default',
  offered: { cpu: 1_000, memory: 2_000 },
  ...over,
});
const alloc = (id: string, nodeId: string, memory: number, jobId = 'web') => ({
  id,
  nodeId,
  jobId,
  namespace: 'default',
  given: { cpu: 100, memory },
});

describe('the topology of a cluster', () => {
  const machines = machinesOf(
    [node('b'), node('a'), node('c', { datacenter: 'dc0', pool: 'gpu', offered: { cpu: 0, memory: 0 } })],
    [alloc('1', 'a', 500), alloc('2', 'a', 1_000, 'db'), alloc('3', 'gone', 9)],
  );

  it('puts allocations on their machines, the largest first, and machines in order', () => {
    expect(machines.map(({ id }) => id)).toEqual(['c', 'a', 'b']);
    expect(machines[1]).toMatchObject({ given: { cpu: 200, memory: 1_500 }, allocations: [{ id: '2' }, { id: '1' }] });
  });

  it('adds up each pool of a datacenter', () => {
    expect(groupsOf(machines)).toMatchObject([
      { datacenter: 'dc0', pool: 'gpu', machines: [{ id: 'c' }] },
      { datacenter: 'dc1', pool: 'default', offered: { memory: 4_000 }, given: { memory: 1_500 } },
    ]);
  });

  it('measures CPU and memory, and nothing of a machine that offers nothing', () => {
    expect(machines.map((machine) => shareOf(machine, 'memory'))).toEqual([0, 0.75, 0]);
    expect(machines.map((machine) => shareOf(machine, 'cpu'))).toEqual([0, 0.2, 0]);
  });

  it('finds machines by their name, their jobs, and where they are', () => {
    const found = (filter: object) => filteredMachines(machines, filter).map(({ id }) => id);
    expect(found({ search: 'DB' })).toEqual(['a']);
    expect(found({ search: 'b', datacenter: 'dc1' })).toEqual(['a', 'b']);
    expect(found({ pool: 'gpu' })).toEqual(['c']);
    expect(found({ status: 'down' })).toEqual([]);
  });
});

it('a machine offers what is not reserved', () => {
  const amounts = (cpu: number, memory: number) => ({ Cpu: { CpuShares: cpu }, Memory: { MemoryMB: memory } });
  const given = {
    ID: 'a',
    Name: 'a',
    Datacenter: 'dc1',
    NodePool: 'default',
    Status: 'ready',
    Drain: false,
    SchedulingEligibility: 'eligible',
    NodeResources: amounts(1_000, 2_000),
    ReservedResources: amounts(100, 256),
  };
  expect(topologyNode(given as unknown as Parameters<typeof topologyNode>[0])).toMatchObject({
    state: 'ready',
    offered: { cpu: 900, memory: 1_744 },
  });
});

it('an allocation takes the room of all its tasks, and none once it has ended', () => {
  const task = (cpu: number, memory: number) => ({ Cpu: { CpuShares: cpu }, Memory: { MemoryMB: memory } });
  const given = (ClientStatus: string) =>
    ({
      ID: '1',
      NodeID: 'a',
      JobID: 'web',
      Namespace: 'default',
      ClientStatus,
      AllocatedResources: { Tasks: { a: task(10, 20), b: task(1, 2) } },
    }) as unknown as Parameters<typeof placedAllocation>[0];
  expect(placedAllocation(given('running'))?.given).toEqual({ cpu: 11, memory: 22 });
  expect(placedAllocation(given('unknown'))).toBeDefined();
  expect(placedAllocation(given('failed'))).toBeUndefined();
});
