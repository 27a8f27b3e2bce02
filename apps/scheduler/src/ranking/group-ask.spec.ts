import type { NetworkResource, Node, Task } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { describe, expect, it } from 'vitest';
import { asks } from '../device.fixture.js';
import { askOf, devicesAskedBy, withCores, withPorts } from './group-ask.js';

const taskOf = (Name: string, resources: Partial<Task['Resources']>, over: Partial<Task> = {}): Task => {
  const task = fixtures.aTask({ Name, ...over });
  return { ...task, Resources: { ...task.Resources, ...resources } };
};
const groupOf = (...Tasks: Task[]) => fixtures.aGroup({ Tasks });

describe('the resources that a group asks for', () => {
  it('SC-100, SC-104: those of all tasks, with secrets, and the disk of the group', () => {
    const sidecar = { Hook: 'prestart' as const, Sidecar: true };
    const ask = askOf(
      groupOf(
        taskOf('web', { CPU: 200, MemoryMB: 100, SecretsMB: 10 }),
        taskOf('proxy', { CPU: 50, MemoryMB: 30 }, { Lifecycle: sidecar }),
      ),
      false,
    );
    expect(ask.resources).toEqual({
      Tasks: {
        web: {
          Cpu: { CpuShares: 200, ReservedCores: null },
          Memory: { MemoryMB: 110, MemoryMaxMB: 0 },
          Networks: null,
          Devices: null,
        },
        proxy: {
          Cpu: { CpuShares: 50, ReservedCores: null },
          Memory: { MemoryMB: 30, MemoryMaxMB: 0 },
          Networks: null,
          Devices: null,
        },
      },
      TaskLifecycles: { web: null, proxy: sidecar },
      Shared: { Networks: null, DiskMB: 300, Ports: null },
    });
    expect(ask.usage).toEqual({ cpuMhz: 250, memoryMB: 140, diskMB: 300, cores: [] });
    expect(ask).toMatchObject({ allocName: '', cores: 0, network: undefined, devices: [] });
  });

  it('SC-102: a task with cores asks for no MHz, and the cores of all tasks add up', () => {
    const ask = askOf(groupOf(taskOf('a', { Cores: 2, CPU: 500 }), taskOf('b', { Cores: 1, CPU: 500 })), false);
    expect([ask.cores, ask.usage.cpuMhz, ask.resources.Tasks['a']?.Cpu.CpuShares]).toEqual([3, 0, 0]);
  });

  it.each([
    ['a limit', true, 256, 266],
    ['the lowest limit', true, 1, 11],
    ['no limit', true, -1, -1],
    ['none', true, 0, 0],
    ['a limit without oversubscription', false, 256, 0],
  ])('SC-105: the memory limit, with secrets: %s', (_, oversubscription, MemoryMaxMB, expected) => {
    const ask = askOf(groupOf(taskOf('web', { MemoryMaxMB, SecretsMB: 10 })), oversubscription);
    expect(ask.resources.Tasks['web']?.Memory.MemoryMaxMB).toBe(expected);
  });

  it('SC-93: all device requests with their tasks', () => {
    const [first, second] = [asks({ Count: 2 }), asks({ Name: 'fpga' })];
    const group = groupOf(
      taskOf('a', { Devices: [first, asks()] }),
      taskOf('b', {}),
      taskOf('c', { Devices: [second] }),
    );
    expect(devicesAskedBy(group)).toEqual([
      { task: 'a', request: first },
      { task: 'a', request: asks() },
      { task: 'c', request: second },
    ]);
  });

  it('SC-88, SC-89: only the first network counts, and its ports are shared by all tasks', () => {
    const network = (Mode: string) => ({ Mode }) as NetworkResource;
    const ask = askOf({ ...groupOf(taskOf('web', {})), Networks: [network('bridge'), network('host')] }, false);
    expect(ask.network?.Mode).toBe('bridge');
    const port = { Label: 'http', Value: 20_000, To: 80, HostIP: '10.0.0.1', IgnoreCollision: false };
    expect(withPorts(ask.resources, [port], network('bridge')).Shared).toEqual({
      Networks: [network('bridge')],
      DiskMB: 300,
      Ports: [port],
    });
  });
});

describe('cores of its own (SC-102)', () => {
  const nodeWith = (ReservableCpuCores: number[] | null, reserved: number[] | null = null, total = 4): Node => {
    const node = fixtures.aNode();
    return {
      ...node,
      NodeResources: { ...node.NodeResources, Cpu: { CpuShares: 4_010, TotalCpuCores: total, ReservableCpuCores } },
      ReservedResources: { ...node.ReservedResources, Cpu: { CpuShares: 0, ReservedCpuCores: reserved } },
    };
  };
  const mixed = groupOf(taskOf('a', { Cores: 1 }), taskOf('plain', { CPU: 70 }), taskOf('b', { Cores: 2 }));
  const holder = (...ReservedCores: number[]) => {
    const alloc = fixtures.anAlloc();
    const task = alloc.AllocatedResources.Tasks['web']!;
    const Tasks = { web: { ...task, Cpu: { CpuShares: 1, ReservedCores } } };
    return { ...alloc, AllocatedResources: { ...alloc.AllocatedResources, Tasks } };
  };
  const coresOf = (node: Node, holders: ReturnType<typeof holder>[] = [], group = mixed) => {
    const ask = askOf(group, false);
    const resources = withCores(ask, ask.resources, node, holders);
    return resources && Object.fromEntries(Object.entries(resources.Tasks).map(([name, { Cpu }]) => [name, Cpu]));
  };
  const plain = { CpuShares: 70, ReservedCores: null };

  it('each task gets the lowest free ones with their MHz, and a task without cores keeps its MHz', () => {
    expect(coresOf(nodeWith([3, 2, 1, 0]))).toEqual({
      a: { CpuShares: 1_002, ReservedCores: [0] },
      plain,
      b: { CpuShares: 2_004, ReservedCores: [1, 2] },
    });
  });

  it('neither those that the node reserves nor those that another allocation holds', () => {
    const b = { CpuShares: 1_336, ReservedCores: [4, 5] };
    expect(coresOf(nodeWith([0, 1, 2, 3, 4, 5], [0], 6), [holder(1, 3)])).toEqual({
      a: { CpuShares: 668, ReservedCores: [2] },
      plain,
      b,
    });
  });

  it.each([
    ['too few', nodeWith([0, 1])],
    ['too few without the reserved ones', nodeWith([0, 1, 2], [2])],
    ['none that may be reserved', nodeWith(null)],
  ])('undefined: %s', (_, node) => {
    expect(coresOf(node)).toBeUndefined();
  });

  it('the only core has all MHz of the node', () => {
    const alone = { CpuShares: 4_010, ReservedCores: [0] };
    expect(coresOf(nodeWith([0], null, 1), [], groupOf(taskOf('a', { Cores: 1 })))).toEqual({ a: alone });
  });

  it('a node that does not say how many cores it has gives no MHz', () => {
    expect(coresOf(nodeWith([0], null, 0), [], groupOf(taskOf('a', { Cores: 1 })))).toEqual({
      a: { CpuShares: 0, ReservedCores: [0] },
    });
  });
});
